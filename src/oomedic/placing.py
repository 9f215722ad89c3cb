"""Node pools among the manifests: where the engine's pod could land, and how a plan moves it to other nodes."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from oomedic.assessment import Assessment
from oomedic.errors import InputError
from oomedic.evidence import Evidence
from oomedic.gpu import Gpu
from oomedic.instance import Instance
from oomedic.manifest_edit import edit_resource
from oomedic.patching import edited_text
from oomedic.placement.landing import Closed, landings
from oomedic.placement.move import Goal, Surroundings, moves
from oomedic.placement.needs import needs_of
from oomedic.placement.node_pool import NodePool, read_node_pools
from oomedic.placement.verdict import CardVerdict, verdicts
from oomedic.planning.plan import Offer, Plan
from oomedic.question import Manifest
from oomedic.workload import Workload

_GPU: Final = "nvidia.com/gpu"


class Placement(NamedTuple):
    """A verdict for each card that the pod may get, those on which the engine fails first; pools that give no node."""

    verdicts: tuple[CardVerdict, ...]
    closed: tuple[Closed, ...] = ()


def speaks_of_pools(manifests: Sequence[Manifest]) -> bool:
    """Tell whether a node pool may stand in the manifests, without reading them."""
    return any("NodePool" in manifest.text for manifest in manifests)


def placement_of(evidence: Evidence, manifests: Sequence[Manifest], instances: Sequence[Instance]) -> Placement | None:
    """Return where the pod could land; None where neither node pools nor the pod's own labels tell.

    Raises:
        InputError: when a manifest cannot be read.
    """
    workload = evidence.workload
    if workload is None or workload.gpu_resource not in {None, _GPU}:
        return None
    found = landings(needs_of(workload), _pools(manifests), instances)
    if not found.open and not found.closed:
        return None
    return Placement(verdicts(found.open, lambda gpu: _on(evidence, gpu)), found.closed)


def with_moves(
    plan: Plan, workload: Workload | None, manifests: Sequence[Manifest], instances: Sequence[Instance]
) -> Plan:
    """Return the plan in which every offer of another machine says how the engine gets there.

    Raises:
        InputError: when a manifest cannot be read.
    """
    written = {manifest.path: manifest.text for manifest in manifests}
    if workload is None or any(place.file not in written for place in workload.edit_paths.values()):
        return plan
    if not any(offer.instance for offer in (plan.best, *plan.alternatives) if offer):
        return plan
    around = Surroundings(_pools(manifests), _classes(manifests), written, instances)
    best = None if plan.best is None else _moved(plan.best, workload, around)
    return plan._replace(best=best, alternatives=tuple(_moved(each, workload, around) for each in plan.alternatives))


def _on(evidence: Evidence, gpu: Gpu) -> Assessment | None:
    return None if evidence.config is None else evidence.assess(evidence.config, gpu=gpu)


def _moved(offer: Offer, workload: Workload, around: Surroundings) -> Offer:
    if offer.instance is None:
        return offer
    sizes = {change.target: change.after for change in offer.changes}
    gpus = int(sizes.get("tensor_parallel_size", 1)) * int(sizes.get("pipeline_parallel_size", 1))
    path = next((place.file for place in workload.edit_paths.values()), next(iter(around.texts)))
    try:
        text = edited_text(around.texts[path], workload, offer.changes)
        if workload.gpu_resource == _GPU and workload.gpus_per_pod != gpus:
            text = edit_resource(text, workload, _GPU, gpus)
    except InputError:
        return offer
    return offer._replace(moves=moves(Goal(offer.instance, workload, around.texts[path], text, gpus), around))


def _pools(manifests: Sequence[Manifest]) -> tuple[NodePool, ...]:
    return tuple(
        pool
        for manifest in manifests
        if "NodePool" in manifest.text
        for pool in read_node_pools(manifest.text, manifest.path)
    )


def _classes(manifests: Sequence[Manifest]) -> dict[str, dict[str, Any]]:
    """Return the EC2NodeClasses by name, as plain values with their numbers and booleans."""
    found: dict[str, dict[str, Any]] = {}
    for manifest in manifests:
        if "EC2NodeClass" in manifest.text:
            found |= _classes_in(manifest.text)
    return found


def _classes_in(text: str) -> dict[str, dict[str, Any]]:
    import yaml  # only where such a class is given

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    documents = [each for each in yaml.load_all(text, Loader=loader) if isinstance(each, dict)]
    listed = [item for each in documents for item in each.get("items") or (each,) if isinstance(item, dict)]
    return {item["metadata"]["name"]: item for item in listed if item.get("kind") == "EC2NodeClass"}
