"""Pod: one pod, no controller, and nothing in it can be changed in place."""

from collections.abc import Iterable

from oomedic.kube_object import KubeObject, Source
from oomedic.pod_spec import PodTemplate, read_pod
from oomedic.workload import Workload


def recognises(found: KubeObject) -> bool:
    """Tell whether this is a Pod."""
    return found.kind == "Pod" and found.group == ""


def read(found: KubeObject, source: Source) -> Iterable[Workload]:
    """Return the engines of the pod."""
    return read_pod(found, PodTemplate("/spec"), source)
