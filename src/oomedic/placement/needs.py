"""What a pod asks of the node that takes it."""

from collections.abc import Mapping
from typing import NamedTuple

from oomedic.kube.requirement import Requirement, exactly
from oomedic.units import Bytes
from oomedic.workloads.workload import Workload


class Needs(NamedTuple):
    """Devices, processors (in thousandths) and memory; the terms, one of which a node must satisfy; tolerations."""

    gpus: int = 1
    cpu: int | None = None
    memory: Bytes | None = None
    terms: tuple[tuple[Requirement, ...], ...] = ((),)
    tolerations: tuple[Mapping[str, str], ...] = ()

    def asks_for_instances(self) -> bool:
        """Tell whether any term speaks of what an instance is or has."""
        return any("/instance-" in requirement.key for term in self.terms for requirement in term)


def needs_of(workload: Workload, *, admitted: bool = True) -> Needs:
    """Return the needs of one engine's pod; what its other containers ask for is not counted.

    A pod tolerates taints that are named after the devices that it asks for, though nobody wrote so: the admission
    plugin ExtendedResourceToleration (k8s.io/kubernetes plugin/pkg/admission/extendedresourcetoleration) is on in EKS
    since 1.19, in GKE and in AKS. Not ``admitted`` where it was seen to be off.
    """
    selector = exactly(workload.node_selector or {})
    return Needs(
        workload.gpus_per_pod or 1,
        workload.cpu_request.bytes if workload.cpu_request else None,
        workload.host_memory_request.bytes if workload.host_memory_request else None,
        tuple((*selector, *term) for term in workload.node_terms) or (selector,),
        (*workload.tolerations, *(_by_admission(workload.gpu_resource) if admitted else ())),
    )


def _by_admission(resource: str | None) -> tuple[Mapping[str, str], ...]:
    if resource is None or "/" not in resource:
        return ()
    return ({"key": resource, "operator": "Exists", "effect": "NoSchedule"},)
