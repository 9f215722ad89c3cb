"""Lower max_num_batched_tokens.

What it does
------------
The largest batch gets smaller, and with it the activations of the profile run: in proportion, down to what the sampler or the
encoder needs anyway. Models with sliding windows also keep fewer tokens in flight.

What it costs
-------------
Long prompts are processed in more, smaller steps: the first token comes later.

When it does not help
---------------------
When the sampler or the encoder is the larger part of the peak, or when weights do not fit.

Says
----
cost: Prompts are processed {after} tokens at a time; the first token of long prompts comes later.
"""

from collections.abc import Iterator

from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.remedy import Catalogued, Proposal, remedy, set_argument

_SIZES = (8192, 4096, 2048, 1024, 512)


@remedy("FIX105", "lower-max-num-batched-tokens", safety="trade-off")
def propose(evidence: Evidence, _finding: Finding, _catalogue: Catalogued) -> Iterator[Proposal]:
    """Name smaller batches; without chunked prefill a batch cannot be smaller than one request."""
    config = evidence.config
    if config is None or not config.flag("enable_chunked_prefill"):
        return
    current, seqs = config.integer("max_num_batched_tokens"), config.integer("max_num_seqs")
    for after in _SIZES:
        if after < current and after >= seqs:
            changes = set_argument(evidence, "FIX105", max_num_batched_tokens=after)
            yield Proposal(changes, claim("FIX105.cost", after=after))
