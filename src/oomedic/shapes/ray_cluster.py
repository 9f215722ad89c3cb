"""RayCluster and RayJob of KubeRay, and AIBrix' RayClusterFleet: the engine runs in the head pod, or is the job.

The head starts Ray and then vLLM, whose ranks run on all pods of the cluster.
"""

from collections.abc import Iterable
from typing import Final

from oomedic.kube.objects import KubeObject
from oomedic.workloads.devices import whole
from oomedic.workloads.pod_spec import PodTemplate, read_pod
from oomedic.workloads.ray_pods import Group, groups, total_devices
from oomedic.workloads.reading import Reading
from oomedic.workloads.source import Source
from oomedic.yamldoc.nodes import Node, ScalarNode, get, items, text_of
from oomedic.yamldoc.rendered import leaf, listed, mapped, merged

_CLUSTERS: Final = {
    ("RayCluster", "ray.io"): "/spec",
    ("RayJob", "ray.io"): "/spec/rayClusterSpec",
    ("RayClusterFleet", "orchestration.aibrix.ai"): "/spec/template/spec",
    ("RayClusterReplicaSet", "orchestration.aibrix.ai"): "/spec/template/spec",
}
_INSIDE: Final = {"/spec": "", "/spec/rayClusterSpec": "rayClusterSpec.", "/spec/template/spec": "template.spec."}


def recognises(found: KubeObject) -> bool:
    """Tell whether this holds a cluster of Ray without an application in it."""
    return (found.kind, found.group) in _CLUSTERS


def read(found: KubeObject, source: Source) -> Iterable[Reading]:
    """Return the engine of the head, of the job's entry point, or of a worker that starts one by itself."""
    pointer = _CLUSTERS[found.kind, found.group]
    source.atlas.take(found)
    known = list(groups(found.at(pointer), source))
    replicas = found.at("/spec/replicas") if found.kind.startswith("RayCluster") else None
    copies = 1 if replicas is None else whole(text_of(replicas))
    entrypoint = found.at("/spec/entrypoint")
    for group in known:
        pod = _with_entrypoint(group, entrypoint) if group.path == "headGroupSpec" else group.pod
        template = PodTemplate(
            pod,
            f"{pointer}/{group.path}/template/spec",
            unit=f"{_INSIDE[pointer]}{group.path.replace('/', '.')}/{{container}}",
            replicas=copies,
        )
        for reading in read_pod(found, template, source):
            if reading.command.running:
                yield _of_cluster(reading, known, copies)


def _with_entrypoint(group: Group, entrypoint: Node | None) -> Node | None:
    """Let the head run what a job starts on it."""
    if not isinstance(entrypoint, ScalarNode):
        return group.pod
    words = mapped({"command": listed([leaf("/bin/sh"), leaf("-c"), entrypoint]), "args": listed([])})
    containers = [merged(each, words) or each for each in items(get(group.pod, "containers"))[:1]]
    return merged(group.pod, mapped({"containers": listed(containers)}))


def _of_cluster(reading: Reading, known: list[Group], copies: int | None) -> Reading:
    """Count the devices of all pods: vLLM spreads over the cluster."""
    equipped = [group for group in known if group.devices.number]
    total = total_devices(known)
    workload = reading.workload
    pods = sum(group.pods or 0 for group in equipped) or 1
    counts = tuple(count for group in equipped for count in group.counts)
    first = equipped[0].devices if equipped and workload.gpu_resource is None else None
    reading = reading._replace(counts=counts or reading.counts)
    return reading.having(
        group_size=pods,
        gpu_resource=first.resource if first else workload.gpu_resource,
        gpus_per_pod=first.number if first else workload.gpus_per_pod,
        gpus_total=None if total is None or copies is None else total * copies,
    )
