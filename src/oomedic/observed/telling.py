"""Facts in the words of the signatures: events that causes find as if a log had printed them.

They come after the last line of the log: a status tells how a life ended, and what the log itself says came before.
Each carries its ``source`` in place of a line.

What no signature of log lines says has names of its own: ``container_ended`` (code, reason, seconds, container),
``container_refused`` (reason, message, container), ``kube_warning`` (reason, message), ``gpu_memory_used`` (gpu, used,
total, free), ``gpu_process`` (gpu, process, pid, memory), ``gpu_shared`` (replicas, strategy), ``gpu_driver`` (version,
cuda), ``node_pressure`` (resource).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from oomedic.figure import Figure
from oomedic.logs.signature import Field, Kind
from oomedic.logs.signatures import Event, Signatures
from oomedic.observed.facts import (
    ContainerState,
    Happening,
    NodeState,
    Observed,
    ObservedGpu,
    PodState,
    Termination,
)
from oomedic.redaction import redact

_KILLED, _OOM_KILLED = 137, "OOMKilled"
_SIGNALS: Final = frozenset((132, 133, 134, 135, 136, 139, 143))
_REPEATING: Final = frozenset(("BackOff", "CrashLoopBackOff"))
_NOT_STARTED: Final = frozenset(
    (
        *("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"),
        *(
            "CreateContainerConfigError",
            "CreateContainerError",
            "RunContainerError",
            "StartError",
            "PostStartHookError",
        ),
    )
)
_OVERCOME: Final[Mapping[str, str]] = {
    "FailedScheduling": "Scheduled",
    "FailedAttachVolume": "Started",
    "FailedMount": "Started",
    "FailedCreatePodSandBox": "Started",
}
"""Refusals by their reasons, and the reason of the event which shows that they passed."""
_TELLING: Final = frozenset(("error", "wrapper", "warning"))
_QUOTE: Final = 300


class About(NamedTuple):
    """Whom the facts concern: the pod, the engine's container and the workload, as far as they are known."""

    pod: PodState | None = None
    container: str | None = None
    workload: str | None = None


def told(observed: Observed, about: About, signatures: Signatures, after: int = 0) -> tuple[Event, ...]:
    """Return the events that the facts amount to.

    Args:
        observed: all that was seen.
        about: whom it must concern; what happened to other pods of the namespace says nothing here.
        signatures: they read the sentences of the kubelet, the scheduler and the driver.
        after: the last line of the log.
    """
    found = (
        *_of_pod(about, signatures),
        *_of_happenings(observed, about, signatures),
        *_of_node(observed.node_of(about.pod)),
        *(event for gpu in observed.gpus for event in _of_gpu(gpu)),
        *_of_driver(observed),
        *(event for line in observed.lines for event in _read(signatures, line.text, line.where)),
    )
    return tuple(event._replace(line=after + number) for number, event in enumerate(found, 1))


def log_of_status(about: About, signatures: Signatures) -> Iterator[Event]:
    """Yield what the end of a log says that the kubelet keeps as a container's message, where no log is at hand."""
    for container in _containers(about):
        for end in container.ends:
            if end.reason not in _NOT_STARTED:
                yield from _read(signatures, end.message or "", f"{end.where}.message", only_telling=False)


def _of_pod(about: About, signatures: Signatures) -> Iterator[Event]:
    pod = about.pod
    if pod is None:
        return
    if pod.unschedulable:
        yield from _read(signatures, pod.unschedulable, f"{pod.where}.conditions")
    for container in _containers(about):
        yield from _of_waiting(container, signatures)
        for end in container.ends:
            if end.reason in _NOT_STARTED:  # its message is the runtime's, not the log's
                yield from _read(signatures, end.message or "", f"{end.where}.message")
            yield _of_end(container, end)
    if pod.message:
        yield from _read(signatures, pod.message, f"{pod.where}.message")


def _containers(about: About) -> Iterator[ContainerState]:
    """Yield the engine's container and those that must end before it starts; all of them where it is not known."""
    containers = about.pod.containers if about.pod else ()
    known = any(container.name == about.container for container in containers)
    return (each for each in containers if each.init or not known or each.name == about.container)


def _of_waiting(container: ContainerState, signatures: Signatures) -> Iterator[Event]:
    if container.reason not in _NOT_STARTED:
        return
    said = f"{container.reason}: {container.message or ''}"
    found = list(_read(signatures, said, container.where))
    yield from found
    if not found:
        fields = {"reason": container.reason, "message": redact(container.message or ""), "container": container.name}
        yield _event("container_refused", "error", container.where, fields)


def _of_end(container: ContainerState, end: Termination) -> Event:
    """Return the event of one end: a kill and a signal as the signatures name them."""
    fields: dict[str, Field] = {"container": container.name}
    fields |= {} if end.ran_s is None else {"seconds": end.ran_s}
    if end.reason == _OOM_KILLED:
        return _event("process_killed", "error", end.where, {**fields, "oom": True}, phase="host_oom")
    if end.exit_code == _KILLED:
        return _event("process_killed", "error", end.where, fields, phase="host_oom")
    fields |= {"reason": end.reason or "", "code": end.exit_code or 0}
    if end.exit_code in _SIGNALS:
        return _event("exit_signal", "wrapper", end.where, fields)
    return _event("container_ended", "wrapper" if end.exit_code else "mark", end.where, fields)


def _of_happenings(observed: Observed, about: About, signatures: Signatures) -> Iterator[Event]:
    done = {(happening.about, happening.reason) for happening in observed.happened}
    for happening in observed.happened:
        if not _concerns(happening, about) or (happening.about, _OVERCOME.get(happening.reason)) in done:
            continue
        said = f"{happening.type}  {happening.reason}  {happening.source or ''}  {happening.message}"
        found = list(_read(signatures, said, happening.where))
        yield from found
        if not found and happening.type == "Warning" and happening.reason not in _REPEATING:
            fields = {"reason": happening.reason, "message": redact(happening.message)}
            yield _event("kube_warning", "warning", happening.where, fields, quote=happening.message)


def _concerns(happening: Happening, about: About) -> bool:
    """Tell whether an event is about this pod, its owner or its node; where none of them is known, any may be."""
    kind, _, name = (happening.about or "").partition("/")
    if not name or kind.lower() == "node":
        return True
    if kind.lower() in {"nodeclaim", "nodepool"}:
        return about.pod is None or about.pod.node is None  # a pod that has its node waits for no other
    if about.pod is not None:
        owner = (about.pod.owner or "").partition("/")[2]
        return name in {about.pod.name, owner} or bool(about.workload and name.startswith(about.workload))
    return about.workload is None or name.startswith(about.workload)


def _of_node(node: NodeState | None) -> Iterator[Event]:
    if node is None:
        return
    for pressure in node.pressures:
        yield _event("node_pressure", "warning", node.where, {"resource": pressure.removesuffix("Pressure").lower()})
    replicas = node.labels.get("nvidia.com/gpu.replicas", "")
    strategy = node.labels.get("nvidia.com/gpu.sharing-strategy", "")
    if (replicas.isdecimal() and int(replicas) > 1) or strategy not in {"", "none"}:
        count = int(replicas) if replicas.isdecimal() else 0
        yield _event("gpu_shared", "setting", node.where, {"replicas": count, "strategy": strategy})


def _of_gpu(gpu: ObservedGpu) -> Iterator[Event]:
    number: dict[str, Field] = {} if gpu.number is None else {"gpu": gpu.number}
    sizes = {name: size for name, size in (("used", gpu.used), ("total", gpu.total), ("free", gpu.free)) if size}
    if gpu.used is not None:
        yield _event("gpu_memory_used", "figure", gpu.where, {**number, **sizes})
    for process in gpu.processes:
        fields: dict[str, Field] = {**number, "process": redact(process.name)}
        fields |= {} if process.pid is None else {"pid": process.pid}
        fields |= {} if process.memory is None else {"memory": process.memory}
        yield _event("gpu_process", "figure", process.where, fields)
    if gpu.xid is not None:
        yield _event("gpu_xid", "error", gpu.where, {"xid": gpu.xid})


def _of_driver(observed: Observed) -> Iterator[Event]:
    driver = observed.driver
    if driver is not None:
        cuda: dict[str, Field] = {} if driver.cuda is None else {"cuda": driver.cuda}
        yield _event("gpu_driver", "setting", driver.where, {"version": driver.version, **cuda})


def _read(signatures: Signatures, text: str, where: str, *, only_telling: bool = True) -> Iterator[Event]:
    """Read a sentence as if it stood in a log."""
    for event in signatures.read([text.encode()]) if text else ():
        if event.kind in _TELLING or not only_telling:
            yield event._replace(source=where, fields=dict(_placed(event.fields, where)))


def _placed(fields: Mapping[str, Field], where: str) -> Iterable[tuple[str, Field]]:
    for name, value in fields.items():
        yield name, value._replace(where=where) if isinstance(value, Figure) else value


def _event(
    signature: str, kind: Kind, where: str, fields: Mapping[str, Field], *, phase: str = "other", quote: str = ""
) -> Event:
    said = quote or " ".join(f"{name}={value}" for name, value in fields.items() if not isinstance(value, Figure))
    return Event(signature, kind, phase, None, fields, 0, None, redact(said)[:_QUOTE], where)
