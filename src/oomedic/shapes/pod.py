"""Pod: one pod, no controller, and nothing in it can be changed in place."""

from collections.abc import Iterable

from oomedic.kube.objects import KubeObject
from oomedic.workloads.pod_spec import PodTemplate, read_pod
from oomedic.workloads.reading import Reading
from oomedic.workloads.source import Source


def recognises(found: KubeObject) -> bool:
    """Tell whether this is a Pod."""
    return found.kind == "Pod" and found.group == ""


def read(found: KubeObject, source: Source) -> Iterable[Reading]:
    """Return the engines of the pod."""
    return read_pod(found, PodTemplate(found.at("/spec"), "/spec"), source)
