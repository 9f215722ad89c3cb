"""Facts about one pod and the place where it runs, each with where it was seen ("pod.yaml:status.reason")."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from oomedic.figure import Figure


class Termination(NamedTuple):
    """The end of one life of a container.

    ``reason`` is the kubelet's word (Error, OOMKilled, Completed, …); ``ran_s`` how many seconds it lived; ``message``
    the end of its log where terminationMessagePolicy asks for that.
    """

    reason: str | None
    exit_code: int | None
    ran_s: int | None
    message: str | None
    where: str


class ContainerState(NamedTuple):
    """One container: ``state`` is running, waiting or terminated; ``ends`` are its ends, the earlier life first.

    ``reason`` and ``message`` are those of a container that waits.
    """

    name: str
    where: str
    state: str | None = None
    reason: str | None = None
    message: str | None = None
    ends: tuple[Termination, ...] = ()
    restarts: int | None = None
    init: bool = False


class PodState(NamedTuple):
    """One pod as the API server shows it; ``reason`` and ``message`` as of an evicted one.

    ``unschedulable`` is the scheduler's own message. ``owner`` is ``Kind/name`` of what made the pod.
    """

    name: str
    namespace: str | None
    where: str
    reason: str | None = None
    message: str | None = None
    unschedulable: str | None = None
    node: str | None = None
    owner: str | None = None
    containers: tuple[ContainerState, ...] = ()


class Happening(NamedTuple):
    """One Kubernetes event. ``about`` is ``kind/name`` as far as it is written, ``source`` who reported it."""

    type: str
    reason: str
    message: str
    where: str
    about: str | None = None
    source: str | None = None


class GpuProcess(NamedTuple):
    """One process that holds memory of a GPU; ``memory`` None where the driver does not tell (MIG, WSL)."""

    name: str
    pid: int | None
    memory: Figure | None
    where: str


class ObservedGpu(NamedTuple):
    """One GPU at the moment of the look; ``total`` is the driver's, of which torch sees up to 2 % less.

    ``pod`` is whom DCGM sees using it; ``xid`` the last error of the driver; ``mig`` the profile of a slice.
    """

    where: str
    number: int | None = None
    name: str | None = None
    total: Figure | None = None
    used: Figure | None = None
    free: Figure | None = None
    processes: tuple[GpuProcess, ...] = ()
    pod: str | None = None
    xid: int | None = None
    mig: str | None = None


class Driver(NamedTuple):
    """The versions that nvidia-smi prints; ``cuda`` is the newest CUDA that the driver can run."""

    version: str
    cuda: str | None
    where: str


class NodeState(NamedTuple):
    """One node: its labels, its GPUs by resource name, and the pressures that it reports (``MemoryPressure``, …)."""

    name: str
    where: str
    labels: Mapping[str, str] = {}
    allocatable: Mapping[str, str] = {}
    pressures: tuple[str, ...] = ()


class Line(NamedTuple):
    """One line of text with its place, for what only the signatures understand."""

    text: str
    where: str


class Observed(NamedTuple):
    """All that was seen beside the log; ``lines`` are error texts of tools ("Failed to initialize NVML")."""

    pods: tuple[PodState, ...] = ()
    happened: tuple[Happening, ...] = ()
    gpus: tuple[ObservedGpu, ...] = ()
    nodes: tuple[NodeState, ...] = ()
    driver: Driver | None = None
    lines: tuple[Line, ...] = ()

    def plus(self, other: "Observed") -> "Observed":
        """Join what two files say."""
        return Observed(
            self.pods + other.pods,
            self.happened + other.happened,
            self.gpus + other.gpus,
            self.nodes + other.nodes,
            self.driver or other.driver,
            self.lines + other.lines,
        )

    def node_of(self, pod: PodState | None) -> NodeState | None:
        """Return the node on which a pod runs, or the only one that was seen."""
        named = next((node for node in self.nodes if pod is not None and node.name == pod.node), None)
        return named or (self.nodes[0] if len(self.nodes) == 1 else None)


NOTHING_OBSERVED: Final = Observed()
