"""What was seen beside the log, in claims that stand beside the diagnosis."""

from collections.abc import Iterator

from oomedic.claim import Claim, claim
from oomedic.observed.facts import ContainerState, Observed, ObservedGpu
from oomedic.redaction import redact

_SHOWN = 4


def remarks(observed: Observed, container: ContainerState | None) -> tuple[Claim, ...]:
    """Return the restarts and ends of the engine's container, and what the cards held."""
    return (*_of_container(container), *(said for gpu in observed.gpus for said in _of_gpu(gpu)))


def _of_container(container: ContainerState | None) -> Iterator[Claim]:
    if container is None:
        return
    if container.restarts:
        yield claim("observed.restarts", container.where, container=container.name, restarts=container.restarts)
    for end in container.ends[-1:]:
        message = "observed.end" if end.ran_s is None else "observed.end-after"
        yield claim(message, end.where, reason=end.reason, code=end.exit_code, seconds=end.ran_s)


def _of_gpu(gpu: ObservedGpu) -> Iterator[Claim]:
    if gpu.used is None or gpu.total is None:
        return
    sizes = {"used": gpu.used.value, "total": gpu.total.value}
    name = " ".join(str(part) for part in (gpu.number, gpu.name) if part is not None)
    named = [process for process in gpu.processes if process.memory is not None and process.name]
    largest = sorted(named, key=lambda process: -(process.memory.value if process.memory else 0))[:_SHOWN]
    if largest:
        processes = ", ".join(redact(process.name) for process in largest)
        yield claim("observed.gpu-by", gpu.where, gpu=name, processes=processes, **sizes)
    else:
        yield claim("observed.gpu", gpu.where, gpu=name, **sizes)
