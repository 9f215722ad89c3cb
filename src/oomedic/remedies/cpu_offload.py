"""Offload weights to host memory.

What it does
------------
The given amount of each GPU's weights stays in host memory and crosses the bus whenever it is needed.

What it costs
-------------
Speed, by an order of magnitude for large amounts: every step reads the offloaded weights over PCIe. The pod needs that much
more host memory.

When it does not help
---------------------
When speed matters at all, or when the pod has no host memory to spare.

Says
----
cost: {after} GiB of weights per GPU are read over PCIe in every step: many times slower; the pod needs that much more host memory.
"""

from collections.abc import Iterator

from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.remedy import Catalogued, Proposal, remedy, set_argument
from oomedic.units import GIB

_LARGEST_SHARE = 0.5


@remedy("FIX111", "cpu-offload", safety="trade-off")
def propose(evidence: Evidence, _finding: Finding, _catalogue: Catalogued) -> Iterator[Proposal]:
    """Name the smallest whole number of GiB that makes room, up to half of the weights."""
    budget = evidence.assessment.budget if evidence.assessment else None
    weights, requested = (budget.item("weights"), budget.requested) if budget else (None, None)
    if weights is None or requested is None or evidence.setting("cpu_offload_gb"):
        return
    excess = max(0, weights.high - requested.value)
    amount = excess // GIB + 2
    while amount * GIB <= weights.value * _LARGEST_SHARE:
        yield Proposal(set_argument(evidence, "FIX111", cpu_offload_gb=amount), claim("FIX111.cost", after=amount))
        amount += max(2, amount // 4)
