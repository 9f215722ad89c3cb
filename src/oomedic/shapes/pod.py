"""Pod: one pod, no controller, and nothing in it can be changed in place."""

from collections.abc import Iterable

from oomedic.kube_object import KubeObject
from oomedic.pod_spec import PodTemplate, read_pod
from oomedic.reading import Reading
from oomedic.source import Source


def recognises(found: KubeObject) -> bool:
    """Tell whether this is a Pod."""
    return found.kind == "Pod" and found.group == ""


def read(found: KubeObject, source: Source) -> Iterable[Reading]:
    """Return the engines of the pod."""
    return read_pod(found, PodTemplate(found.at("/spec"), "/spec"), source)
