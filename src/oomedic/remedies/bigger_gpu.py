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
cost: Another kind of node, with {memory:gib} on each GPU: {price:.2f} USD per hour on demand; the pod must be scheduled there and request {gpus} {gpus:plural GPU|GPUs}.
cost-reserved: Another kind of node, with {memory:gib} on each GPU: {price:.2f} USD per hour on demand, where capacity is rare: plan for a reservation or a Capacity Block. The pod must request {gpus} {gpus:plural GPU|GPUs}.
cost-unpriced: Another kind of node, with {memory:gib} on each GPU, to be had in Capacity Blocks only; the pod must be scheduled there and request {gpus} {gpus:plural GPU|GPUs}.
step: {instance} ({gpus} x {gpu}) with --tensor-parallel-size {tensor}
step-stages: {instance} ({gpus} x {gpu}) with --tensor-parallel-size {tensor} --pipeline-parallel-size {pipeline}
"""

from collections.abc import Iterable, Iterator
from typing import Final

from oomedic.claim import Claim, claim
from oomedic.engine.config import EngineConfig
from oomedic.errors import OomedicError, Parameter
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.instance import Instance, cheapest_of_each, large_enough
from oomedic.remedy import Catalogued, Change, Proposal, remedy
from oomedic.search.splits import Split, splits

_CODE: Final = "FIX303"
_ARCH: Final = "kubernetes.io/arch"
_ARM: Final = "arm64"


@remedy("FIX303", "bigger-gpu-or-instance", safety="manual")
def propose(evidence: Evidence, _finding: Finding, catalogue: Catalogued) -> Iterator[Proposal]:
    """Name instance types with more GPU memory than there is, the cheapest first, with the model split over all cards."""
    config, budget = evidence.config, evidence.assessment.budget if evidence.assessment else None
    if config is None or budget is None or budget.total is None or budget.item("weights") is None:
        return
    here = budget.total.value * config.local_ranks
    instances = tuple(catalogue.instances())
    wanted = _architecture(evidence, instances)
    same = (each for each in instances if each.arch in {None, wanted} and large_enough(each))
    for instance in cheapest_of_each(same):
        if instance.gpus * instance.gpu.memory.value <= here or _loses_bf16(evidence, instance):
            continue
        split = _split(evidence, config, instance)
        if split is not None:
            yield _proposal(evidence, config, instance, split)


def _architecture(evidence: Evidence, instances: Iterable[Instance]) -> str:
    """Return the processors that the image runs on: as the pod asks for, or as machines with this card have."""
    asked = evidence.workload.node_selector if evidence.workload else None
    if asked and _ARCH in asked:
        return asked[_ARCH]
    known = {each.arch for each in instances if evidence.gpu is not None and each.gpu.name == evidence.gpu.name}
    return _ARM if known == {_ARM} else "amd64"


def _loses_bf16(evidence: Evidence, instance: Instance) -> bool:
    """Tell whether the model would have to run in another data type than here."""
    return not instance.gpu.bf16 and (evidence.gpu is None or evidence.gpu.bf16)


def _split(evidence: Evidence, config: EngineConfig, instance: Instance) -> Split | None:
    """Return how the model is spread over as many cards of the machine as it can be."""
    for split in splits(instance.gpus, config.local_ranks // config.ranks):
        sizes = {"tensor_parallel_size": split.tensor, "pipeline_parallel_size": split.pipeline}
        try:
            evidence.assess(config.replaced(sizes), gpu=instance.gpu)
        except OomedicError:
            continue
        return split
    return None


def _proposal(evidence: Evidence, config: EngineConfig, instance: Instance, split: Split) -> Proposal:
    before = evidence.gpu.name if evidence.gpu else None
    changes = [
        Change("gpu", before, instance.gpu.name, _CODE),
        Change("tensor_parallel_size", config.tensor_parallel_size, split.tensor, _CODE),
    ]
    if split.pipeline != config.pipeline_parallel_size:
        changes.append(Change("pipeline_parallel_size", config.pipeline_parallel_size, split.pipeline, _CODE))
    step = claim(
        "FIX303.step" if split.pipeline == 1 else "FIX303.step-stages",
        instance=instance.type,
        gpus=instance.gpus,
        gpu=instance.gpu.name,
        tensor=split.tensor,
        pipeline=split.pipeline,
    )
    gpus = split.ranks * (config.local_ranks // config.ranks)
    return Proposal(tuple(changes), _cost(instance, gpus), gpu=instance.gpu, step=step, instance=instance)


def _cost(instance: Instance, gpus: int) -> Claim:
    facts: dict[str, Parameter] = {
        "instance": instance.type,
        "gpus": gpus,
        "gpu": instance.gpu.name,
        "memory": instance.gpu.memory.value,
    }
    if instance.price is None:
        return Claim("FIX303.cost-unpriced", facts)
    name = "FIX303.cost-reserved" if instance.capacity else "FIX303.cost"
    return Claim(name, {**facts, "price": instance.price}, instance.price_date or "")
