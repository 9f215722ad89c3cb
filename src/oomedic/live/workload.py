"""What a cluster shows of one workload: its owners, pods, logs, events, node and neighbours; and what it refused."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple

from oomedic.claim import Claim
from oomedic.kube.ownership import Reference, Tree, reference

_WAITING_FOR_NOTHING: Final = frozenset(("ContainerCreating", "PodInitializing"))


class Refused(NamedTuple):
    """One permission that was missing. ``namespace`` is None for what has none, or for all namespaces.

    ``fact`` names what is not known without it, as in the messages ``cluster.without.*``.
    """

    fact: str
    verb: str
    group: str
    resource: str
    namespace: str | None = None

    @property
    def rule(self) -> str:
        """The rule of a Role or ClusterRole that would allow it, as one line of YAML."""
        return f'{{apiGroups: ["{self.group}"], resources: ["{self.resource}"], verbs: ["{self.verb}"]}}'


class ContainerLog(NamedTuple):
    """What one life of one container printed."""

    container: str
    previous: bool
    text: bytes


class Printed(NamedTuple):
    """What a tool says of the GPUs; ``where`` names it and its place."""

    kind: Literal["nvidia-smi", "dcgm"]
    where: str
    text: str


class LivePod(NamedTuple):
    """One pod as the API server shows it, the events about it, its logs, and what is said of its GPUs."""

    found: Tree
    events: tuple[Tree, ...] = ()
    logs: tuple[ContainerLog, ...] = ()
    printed: tuple[Printed, ...] = ()

    @property
    def name(self) -> str:
        """The pod's name."""
        return str(self.found["metadata"]["name"])


class Former(NamedTuple):
    """An earlier revision that is known to have run.

    Attributes:
        number: as ``kubectl rollout history`` counts.
        at: when it was made.
        template: its pod template.
        until: until when its pods were ready, None where they are at this moment.
        pod: one that is ready.
        node: where that one runs.
    """

    number: int
    at: str
    template: Tree
    until: str | None = None
    pod: Tree | None = None
    node: Tree | None = None


class LiveWorkload(NamedTuple):
    """One workload.

    Attributes:
        chain: from the object that a person or a tool wrote down to the owner of the pods; the first is to be edited.
        pods: those to be diagnosed, the oldest crash first.
        config_maps: those that the pods name. Secrets are never read.
        node: where the first pod runs.
        neighbours: other pods with GPUs on that node, ``namespace/name``.
        node_pools: Karpenter's.
        refused: what could not be seen.
        former: the last revision before this one that is known to have run.
        ran_itself_until: until when a Deployment was available, where that was this revision already.
        remarks: what else a person should know of the collection.
    """

    chain: tuple[Tree, ...]
    pods: tuple[LivePod, ...] = ()
    config_maps: tuple[Tree, ...] = ()
    node: Tree | None = None
    neighbours: tuple[str, ...] = ()
    node_pools: tuple[Tree, ...] = ()
    refused: tuple[Refused, ...] = ()
    former: Former | None = None
    ran_itself_until: str | None = None
    remarks: tuple[Claim, ...] = ()

    @property
    def subject(self) -> Reference:
        """The object that is to be edited."""
        return reference(self.chain[0])


def is_failing(pod: Tree) -> bool:
    """Tell whether a container of the pod waits after a crash, has crashed and is not ready, or cannot start."""
    if pod.get("status", {}).get("phase") == "Failed":
        return True
    return any(map(_is_failing, _statuses(pod)))


def has_crashed(pod: Tree) -> bool:
    """Tell whether a container of the pod has a life behind it that ended in failure."""
    return any(_ended_badly(status.get("lastState")) or _ended_badly(status.get("state")) for status in _statuses(pod))


def is_unscheduled(pod: Tree) -> bool:
    """Tell whether the scheduler found no node for the pod."""
    conditions = pod.get("status", {}).get("conditions") or ()
    return any(each["type"] == "PodScheduled" and each["status"] == "False" for each in conditions)


def is_ready(pod: Tree) -> bool:
    """Tell whether the pod is ready and not on its way out."""
    conditions = pod.get("status", {}).get("conditions") or ()
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
    return ready and "deletionTimestamp" not in pod["metadata"]


def logged_lives(pod: Tree) -> Iterator[tuple[str, bool]]:
    """Return the containers whose logs can be had, each with whether it is the previous life: previous lives first."""
    statuses = list(_statuses(pod))
    for status in statuses:
        if "terminated" in (status.get("lastState") or {}):
            yield status["name"], True
    for status in statuses:
        state = status.get("state") or {}
        if "running" in state or "terminated" in state:
            yield status["name"], False


def config_maps_named(pod: Tree) -> tuple[str, ...]:
    """Return the ConfigMaps that a pod mounts or takes its environment from."""
    return tuple(sorted(set(_config_maps(pod.get("spec", {})))))


def gpus_asked(pod: Tree) -> int:
    """Return how many of NVIDIA's devices, whole or sliced, the containers ask for."""
    return sum(map(_devices, pod.get("spec", {}).get("containers") or ()))


def gpu_containers_running(pod: Tree) -> Iterator[str]:
    """Return the containers that have GPUs and run at this moment."""
    running = {status["name"] for status in _statuses(pod) if "running" in (status.get("state") or {})}
    for container in pod.get("spec", {}).get("containers") or ():
        if container["name"] in running and _devices(container):
            yield container["name"]


def _statuses(pod: Tree) -> Iterator[Mapping[str, Any]]:
    status = pod.get("status", {})
    for kind in ("initContainerStatuses", "containerStatuses"):
        yield from status.get(kind) or ()


def _is_failing(status: Mapping[str, Any]) -> bool:
    state = status.get("state") or {}
    waiting = (state.get("waiting") or {}).get("reason")
    if waiting is not None and waiting not in _WAITING_FOR_NOTHING:
        return True
    if _ended_badly(state):
        return True
    return not status.get("ready") and _ended_badly(status.get("lastState"))


def _ended_badly(state: Mapping[str, Any] | None) -> bool:
    ended = (state or {}).get("terminated")
    return ended is not None and ended.get("exitCode", 0) != 0


def _config_maps(spec: Mapping[str, Any]) -> Iterator[str]:
    for volume in spec.get("volumes") or ():
        yield from _names([volume], "configMap", "name")
        yield from _names((volume.get("projected") or {}).get("sources") or (), "configMap", "name")
    for kind in ("initContainers", "containers"):
        for container in spec.get(kind) or ():
            yield from _names(container.get("envFrom") or (), "configMapRef", "name")
            sources = (variable.get("valueFrom") or {} for variable in container.get("env") or ())
            yield from _names(sources, "configMapKeyRef", "name")


def _names(items: Iterable[Mapping[str, Any]], kind: str, key: str) -> Iterator[str]:
    for item in items:
        name = (item.get(kind) or {}).get(key)
        if name:
            yield name


def _devices(container: Mapping[str, Any]) -> int:
    limits = (container.get("resources") or {}).get("limits") or {}
    asked = (str(number) for resource, number in limits.items() if resource.startswith("nvidia.com/"))
    return sum(int(number) for number in asked if number.isdigit())
