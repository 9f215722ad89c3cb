"""Kubernetes' own controllers of pods: Deployment, StatefulSet, DaemonSet, ReplicaSet, Job, CronJob.

All of them hold a pod template; they differ in how many pods they run and in how they replace them.
"""

from collections.abc import Iterable
from typing import Final

from oomedic.kube.objects import KubeObject
from oomedic.workloads.devices import whole
from oomedic.workloads.pod_facts import strategy
from oomedic.workloads.pod_spec import PodTemplate, read_pod
from oomedic.workloads.reading import Reading
from oomedic.workloads.source import Source
from oomedic.workloads.workload import Strategy
from oomedic.yamldoc.nodes import get, text_of

_TEMPLATES: Final = {
    "Deployment": "/spec/template/spec",
    "StatefulSet": "/spec/template/spec",
    "DaemonSet": "/spec/template/spec",
    "ReplicaSet": "/spec/template/spec",
    "ReplicationController": "/spec/template/spec",
    "Job": "/spec/template/spec",
    "CronJob": "/spec/jobTemplate/spec/template/spec",
}
_GROUPS: Final = frozenset(("apps", "batch", "extensions", ""))
_SURGE: Final = {"Deployment": ("25%", "25%"), "DaemonSet": ("0", "1")}


def recognises(found: KubeObject) -> bool:
    """Tell whether this is one of the controllers."""
    return found.kind in _TEMPLATES and found.group in _GROUPS


def read(found: KubeObject, source: Source) -> Iterable[Reading]:
    """Return the engines of the pod template."""
    pointer = _TEMPLATES[found.kind]
    template = PodTemplate(
        found.at(pointer),
        pointer,
        replicas=_replicas(found),
        strategy=_strategy(found),
        progress_deadline_s=whole(text_of(get(found.node, "spec", "progressDeadlineSeconds"))),
    )
    return read_pod(found, template, source)


def _replicas(found: KubeObject) -> int | None:
    if found.kind == "DaemonSet":
        return None
    spec = "/spec/jobTemplate/spec" if found.kind == "CronJob" else "/spec"
    field = "parallelism" if found.kind in {"Job", "CronJob"} else "replicas"
    written = found.at(f"{spec}/{field}")
    return 1 if written is None else whole(text_of(written))


def _strategy(found: KubeObject) -> Strategy | None:
    if found.kind in {"Deployment", "DaemonSet", "StatefulSet"}:
        node = found.at("/spec/strategy" if found.kind == "Deployment" else "/spec/updateStrategy")
        return strategy(node, _SURGE.get(found.kind))
    return None
