"""A tensor_parallel_size that divides the model.

What it does
------------
Each rank gets the same number of attention heads.

What it costs
-------------
Fewer GPUs for the model's layers; the remaining ones can be used by pipeline parallelism.

When it does not help
---------------------
When the smaller number of GPUs cannot hold the weights.

Says
----
cost: The model is split over {after} GPUs instead of {before}.
"""

from collections.abc import Iterator

from oomedic.claim import claim
from oomedic.errors import OomedicError
from oomedic.evidence import Evidence
from oomedic.fields import count
from oomedic.finding import Finding
from oomedic.hf_config import attention_heads
from oomedic.remedy import Catalogued, Proposal, remedy, set_argument


@remedy("FIX304", "parallel-size-that-divides", safety="trade-off")
def propose(evidence: Evidence, _finding: Finding, _catalogue: Catalogued) -> Iterator[Proposal]:
    """Name smaller numbers of ranks that divide the heads, powers of two first."""
    event = evidence.first("heads_not_divisible")
    before = count(event, "tensor_parallel_size") or (evidence.config.tensor_parallel_size if evidence.config else None)
    heads = count(event, "heads") or _heads(evidence)
    if before is None or heads is None:
        return
    fitting = [size for size in range(before - 1, 0, -1) if heads % size == 0]
    for after in sorted(fitting, key=lambda size: (size & (size - 1) != 0, -size)):
        changes = set_argument(evidence, "FIX304", tensor_parallel_size=after)
        yield Proposal(
            changes, claim("FIX304.cost", after=after, before=before), proof=f"log:{event.line}" if event else None
        )


def _heads(evidence: Evidence) -> int | None:
    if evidence.checkpoint is None:
        return None
    try:
        return attention_heads(evidence.checkpoint.text)
    except OomedicError:
        return None
