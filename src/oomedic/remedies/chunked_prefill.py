"""Process prompts in chunks (V0).

What it does
------------
The profile run takes a chunk instead of a whole request of max_model_len tokens. V1 always does so.

What it costs
-------------
Long prompts are processed in several steps.

When it does not help
---------------------
On V1, and for models that V0 could not chunk: with encoders, latent attention or LoRA.

Says
----
cost: Long prompts are processed {after} tokens at a time.
"""

from collections.abc import Iterator

from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.remedy import Catalogued, Proposal, remedy, set_argument

_CHUNK = 2048


@remedy("FIX114", "chunked-prefill", safety="safe")
def propose(evidence: Evidence, _finding: Finding, _catalogue: Catalogued) -> Iterator[Proposal]:
    """Name chunked prefill where V0 runs without it and the model allows it."""
    config, checkpoint = evidence.config, evidence.checkpoint
    if config is None or config.generation != "V0" or config.flag("enable_chunked_prefill"):
        return
    if checkpoint is not None and checkpoint.is_multimodal:
        return
    values = {"enable_chunked_prefill": True, "max_num_batched_tokens": _CHUNK}
    yield Proposal(set_argument(evidence, "FIX114", **values), claim("FIX114.cost", after=_CHUNK))
