"""As many ranks as GPUs.

What it does
------------
tensor_parallel_size and the pod's GPUs say the same number.

What it costs
-------------
Fewer GPUs hold the model; or more GPUs are taken.

When it does not help
---------------------
When the smaller number of GPUs cannot hold the weights: then the pod needs more of them.

Says
----
cost: The model is split over {after} GPUs instead of {before}.
"""

from collections.abc import Iterator

from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import count
from oomedic.remedy import Catalogued, Proposal, remedy, set_argument


@remedy("FIX305", "parallel-size-within-gpus", safety="trade-off")
def propose(evidence: Evidence, _finding: Finding, _catalogue: Catalogued) -> Iterator[Proposal]:
    """Name the number of GPUs that the engine sees, and smaller powers of two."""
    event = next((each for each in evidence.all("gpus_too_few") if count(each, "gpus") is not None), None)
    gpus = count(event, "gpus") or evidence.gpu_count
    config = evidence.config
    if not gpus or config is None:
        return
    before = config.tensor_parallel_size
    after = gpus // config.pipeline_parallel_size
    while after >= 1:
        if after < before:
            changes = set_argument(evidence, "FIX305", tensor_parallel_size=after)
            proof = f"log:{event.line}" if event else None
            yield Proposal(changes, claim("FIX305.cost", after=after, before=before), proof=proof)
        after //= 2
