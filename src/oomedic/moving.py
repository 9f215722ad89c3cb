"""Offers of another machine: how an engine gets there, with the pools and manifests that are given."""

from collections.abc import Sequence
from typing import Any, Final

from oomedic.edits.devices import edit_resource
from oomedic.errors import InputError
from oomedic.instance import Instance
from oomedic.patches.patching import edited_text
from oomedic.placement.move import Goal, Surroundings, moves
from oomedic.placement.placing import pools_among
from oomedic.planning.plan import Offer, Plan
from oomedic.question import Manifest
from oomedic.workloads.workload import Workload

_GPU: Final = "nvidia.com/gpu"


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
    around = Surroundings(pools_among(manifests), _classes(manifests), written, instances)
    best = None if plan.best is None else _moved(plan.best, workload, around)
    return plan._replace(best=best, alternatives=tuple(_moved(each, workload, around) for each in plan.alternatives))


def _moved(offer: Offer, workload: Workload, around: Surroundings) -> Offer:
    if offer.instance is None:
        return offer
    sizes = {change.target: change.after for change in offer.changes}
    gpus = int(sizes.get("tensor_parallel_size", 1)) * int(sizes.get("pipeline_parallel_size", 1)) * _copies(workload)
    path = next((place.file for place in workload.edit_paths.values()), next(iter(around.texts)))
    try:
        text = edited_text(around.texts[path], workload, offer.changes)
        if workload.gpu_resource == _GPU and workload.gpus_per_pod != gpus:
            text = edit_resource(text, workload, _GPU, gpus)
    except InputError:
        return offer
    return offer._replace(moves=moves(Goal(offer.instance, workload, around.texts[path], text, gpus), around))


def _copies(workload: Workload) -> int:
    """Return how many copies of the model data parallelism makes in one pod."""
    sizes = (workload.arguments.given.get(name) for name in ("data_parallel_size_local", "data_parallel_size"))
    return next((size.value for size in sizes if size is not None and isinstance(size.value, int)), 1) or 1


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
