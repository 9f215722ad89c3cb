"""LeaderWorkerSet (leaderworkerset.x-k8s.io): groups of one leader and its workers make one engine.

With Ray the engine's arguments stand in the leader alone; with data parallelism of its own every pod has them. Without
a leader's template the workers' one is used for all. Changing the number of GPUs concerns both templates.
"""

from collections.abc import Iterable, Iterator

from oomedic.claim import claim
from oomedic.kube.objects import KubeObject
from oomedic.workloads.devices import Devices, read_devices, whole
from oomedic.workloads.pod_spec import PodTemplate, read_pod
from oomedic.workloads.reading import Count, Reading
from oomedic.workloads.source import Source
from oomedic.workloads.workload import Strategy
from oomedic.yamldoc.nodes import Node, get, items, text_of
from oomedic.yamldoc.rendered import joined, listed, mapped, merged, variable

_TEMPLATE = "/spec/leaderWorkerTemplate"
_RECREATED = frozenset((None, "RecreateGroupOnPodRestart", "RecreateGroupAfterStart"))


def recognises(found: KubeObject) -> bool:
    """Tell whether this is a LeaderWorkerSet."""
    return found.kind == "LeaderWorkerSet" and found.group == "leaderworkerset.x-k8s.io"


def read(found: KubeObject, source: Source) -> Iterable[Reading]:
    """Return the leader's engine, and the workers' where they start one of their own."""
    leader, worker = (found.at(f"{_TEMPLATE}/{name}/spec") for name in ("leaderTemplate", "workerTemplate"))
    engines = list(_engines(found, "leader" if leader else "worker", leader or worker, source))
    counts = tuple(count for pod in (leader, worker) for count in _counts(pod, source))
    for reading in engines:
        yield reading._replace(counts=counts or reading.counts)
    if leader is not None:
        own = (reading for reading in _engines(found, "worker", worker, source) if reading.command.running)
        yield from (reading._replace(counts=counts) for reading in own)


def _engines(found: KubeObject, role: str, pod: Node | None, source: Source) -> Iterator[Reading]:
    size, replicas = found.at(f"{_TEMPLATE}/size"), found.at("/spec/replicas")
    template = PodTemplate(
        _with_group_size(pod, size),
        f"{_TEMPLATE}/{role}Template/spec",
        unit=f"{role}/{{container}}",
        replicas=1 if replicas is None else whole(text_of(replicas)),
        group_size=whole(text_of(size)) or 1,
        strategy=_strategy(found),
    )
    recreated = text_of(found.at(f"{_TEMPLATE}/restartPolicy")) in _RECREATED
    notes = (claim("note.group-recreated"),) if recreated else ()
    for reading in read_pod(found, template, source):
        yield reading.having(notes=reading.workload.notes + notes)


def _with_group_size(pod: Node | None, size: Node | None) -> Node | None:
    """Add the variable that the controller gives every container."""
    if size is None:
        return pod
    known = listed([variable("LWS_GROUP_SIZE", size)])
    containers = [
        merged(each, mapped({"env": joined(known, get(each, "env"))})) or each for each in items(get(pod, "containers"))
    ]
    return merged(pod, mapped({"containers": listed(containers)})) if containers else pod


def _counts(pod: Node | None, source: Source) -> Iterator[Count]:
    for container in items(get(pod, "containers")):
        devices: Devices = read_devices(container, pod, source)
        yield from map(Count, devices.leaves)


def _strategy(found: KubeObject) -> Strategy:
    rolling = found.at("/spec/rolloutStrategy/rollingUpdateConfiguration")
    surge, unavailable = (text_of(get(rolling, name)) for name in ("maxSurge", "maxUnavailable"))
    return Strategy("RollingUpdate", surge or "0", unavailable or "1", surge is None and unavailable is None)
