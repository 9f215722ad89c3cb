"""Node pools among the manifests: where the engine's pod could land, and whether it starts there."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from oomedic.evidence import Evidence
from oomedic.gpu import Gpu
from oomedic.instance import Instance
from oomedic.memory.assessment import Assessment
from oomedic.placement.landing import Closed, landings
from oomedic.placement.needs import needs_of
from oomedic.placement.node_pool import NodePool, read_node_pools
from oomedic.placement.verdict import CardVerdict, verdicts
from oomedic.question import Manifest

_GPU: Final = "nvidia.com/gpu"


class Placement(NamedTuple):
    """A verdict for each card that the pod may get, those on which the engine fails first; pools that give no node."""

    verdicts: tuple[CardVerdict, ...]
    closed: tuple[Closed, ...] = ()


def placement_of(evidence: Evidence, manifests: Sequence[Manifest], instances: Sequence[Instance]) -> Placement | None:
    """Return where the pod could land; None where neither node pools nor the pod's own labels tell.

    Raises:
        InputError: when a manifest cannot be read.
    """
    workload = evidence.workload
    if workload is None or workload.gpu_resource not in {None, _GPU}:
        return None
    needs = needs_of(workload, admitted=not _kept_from_its_devices(evidence))
    found = landings(needs, pools_among(manifests), instances)
    if not found.open and not found.closed:
        return None
    return Placement(verdicts(found.open, lambda gpu: _on(evidence, gpu)), found.closed)


def pools_among(manifests: Sequence[Manifest]) -> tuple[NodePool, ...]:
    """Return the node pools of the manifests.

    Raises:
        InputError: when a manifest cannot be read.
    """
    return tuple(
        pool
        for manifest in manifests
        if "NodePool" in manifest.text
        for pool in read_node_pools(manifest.text, manifest.path)
    )


def _kept_from_its_devices(evidence: Evidence) -> bool:
    """Tell whether an event says that the pod does not tolerate the usual taint of the GPUs that it asks for."""
    events = tuple(evidence.all("pod_unschedulable"))
    if not events:
        return False
    from oomedic.placement.unplaced import read_unplaced  # only for a pod that got no node

    reasons = (each for event in events for each in read_unplaced(event.quote))
    return any(each.kind == "taint" and str(each.details.get("taint", "")).startswith(_GPU) for each in reasons)


def _on(evidence: Evidence, gpu: Gpu) -> Assessment | None:
    if gpu == evidence.gpu and evidence.assessment is not None:
        return evidence.assessment  # with what the engine printed there
    return None if evidence.config is None else evidence.assess(evidence.config, gpu=gpu)
