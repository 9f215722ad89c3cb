"""A tensor_parallel_size that divides the model.

What it does
------------
Each rank gets the same number of attention heads and experts, and whole blocks of quantised weights.

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
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.remedy import Catalogued, Proposal, remedy, set_argument
from oomedic.symptoms.splitting import asked_ranks, fitting_ranks


@remedy("FIX304", "parallel-size-that-divides", safety="trade-off")
def propose(evidence: Evidence, finding: Finding, _catalogue: Catalogued) -> Iterator[Proposal]:
    """Name smaller numbers of ranks that divide what was refused."""
    before = asked_ranks(evidence)
    proof = None if finding.line is None else f"log:{finding.line}"
    for after in fitting_ranks(evidence):
        changes = set_argument(evidence, "FIX304", tensor_parallel_size=after)
        yield Proposal(changes, claim("FIX304.cost", after=after, before=before), proof=proof)
