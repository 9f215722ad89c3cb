"""Use a bigger GPU, or more of them.

What it does
------------
A card with more memory, or several, hold what this one cannot.

What it costs
-------------
Money, and a node that has such cards: a person must see to it.

When it does not help
---------------------
When something else holds the memory, or a setting asks for more than any card of the kind offers.

Says
----
cost: Another kind of node, with {memory:gib} on each GPU: {price:.2f} USD per hour on demand; the pod must be scheduled there and request {gpus} GPUs.
cost-unpriced: Another kind of node, with {memory:gib} on each GPU; the pod must be scheduled there and request {gpus} GPUs.
step: {instance} ({gpus} x {gpu}) with --tensor-parallel-size {gpus}
"""

from collections.abc import Iterator

from oomedic.claim import Claim, claim
from oomedic.errors import Parameter
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.instance import Instance, cheapest_of_each
from oomedic.remedy import Catalogued, Change, Proposal, remedy


@remedy("FIX303", "bigger-gpu-or-instance", safety="manual")
def propose(evidence: Evidence, _finding: Finding, catalogue: Catalogued) -> Iterator[Proposal]:
    """Name instance types with more GPU memory than there is, the cheapest first."""
    config, budget = evidence.config, evidence.assessment.budget if evidence.assessment else None
    if config is None or budget is None or budget.total is None or budget.item("weights") is None:
        return
    here = budget.total.value * config.ranks
    before = evidence.gpu.name if evidence.gpu else None
    for instance in cheapest_of_each(catalogue.instances()):
        if instance.gpus * instance.gpu.memory.value <= here:
            continue
        changes = (
            Change("gpu", before, instance.gpu.name, "FIX303"),
            Change("tensor_parallel_size", config.tensor_parallel_size, instance.gpus, "FIX303"),
        )
        step = claim("FIX303.step", instance=instance.type, gpus=instance.gpus, gpu=instance.gpu.name)
        yield Proposal(changes, _cost(instance), gpu=instance.gpu, step=step)


def _cost(instance: Instance) -> Claim:
    facts: dict[str, Parameter] = {
        "instance": instance.type,
        "gpus": instance.gpus,
        "gpu": instance.gpu.name,
        "memory": instance.gpu.memory.value,
    }
    if instance.price is None:
        return Claim("FIX303.cost-unpriced", facts)
    return Claim("FIX303.cost", {**facts, "price": instance.price}, instance.price_date or "")
