"""Shared memory (/dev/shm) is too small.

Ranks exchange data through shared memory. A container gets 64 MiB of it unless its pod mounts more.

What you see
------------
"Error while creating shared memory segment /dev/shm/nccl-…", "No space left on device" naming /dev/shm or a psm_ segment,
"Insufficient space in /dev/shm for shared-memory allocation", "Bus error", or a worker that dies with exit code -7 (SIGBUS).

Why it happens
--------------
NCCL and vLLM's message queue between processes put their buffers there; writing beyond the end of a small tmpfs ends the
process with SIGBUS. Restarts of the container keep an emptyDir: segments that crashed workers left behind add up, so that
the loop cannot heal itself.

Example
-------
    $ oomedic diagnose -
    torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:317, unhandled system error (run with NCCL_DEBUG=INFO for details), NCCL version 2.21.5
    ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error.
    Last error:
    Error while creating shared memory segment /dev/shm/nccl-F9ffgB (size 9637888)

Not this
--------
    $ oomedic diagnose -
    OSError: [Errno 28] No space left on device

What helps, in order, and why
-----------------------------
A memory-backed emptyDir at /dev/shm of a few GiB. It counts against the container's memory limit, which must grow with it.
Where it is large already: delete the pod instead of letting its container restart.

What makes it worse
-------------------
Nothing; GPU settings play no part.

Since
-----
All releases; the check with both sizes since 0.30.

Says
----
summary: /dev/shm is too small for the data that ranks exchange.
sizes: {required:gib} were asked for and {free:gib} was free.
segment: A segment of {size:gib} could not be made.
signal: A process died of a bus error: mostly /dev/shm is full, sometimes a file that was cut short is read. `df -h /dev/shm` in the container decides.
unmounted: The pod mounts nothing at /dev/shm: the container has its runtime's default of 64 MiB.
mounted: The pod mounts {written} at /dev/shm.
"""

from oomedic.cause import cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import count, line_of, size
from oomedic.logs.signatures import Event
from oomedic.symptoms.failures import failure
from oomedic.symptoms.silence import killed_by, silent_death

_SIGBUS = 7
_NAMED = ("nccl_shared_memory", "shared_memory_too_small")


@cause(
    "HOST102",
    "shared-memory-too-small",
    reads=(*_NAMED, "bus_error", "exit_signal", "worker_died", "engine_core_initialization_failed"),
    helps=("FIX401",),
    useless=("FIX101", "FIX102", "FIX103", "FIX104", "FIX105", "FIX107", "FIX108", "FIX306"),
    narrows=("CFG106",),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise a segment that could not be made, or a bus error."""
    event = failure(evidence, *_NAMED)
    if event is not None:
        claims = (claim("HOST102.summary", line_of(event)), *_sizes(event), *_mount(evidence))
        return Finding("HOST102", "shared-memory-too-small", "certain", claims, event.line, "nccl_init")
    event = failure(evidence, "bus_error") or _signal(evidence)
    if event is None:
        return None
    claims = (claim("HOST102.signal", line_of(event)), *_mount(evidence))
    return Finding("HOST102", "shared-memory-too-small", "likely", claims, event.line, "host_oom")


def _signal(evidence: Evidence) -> Event | None:
    told = next((event for event in evidence.all("exit_signal") if count(event, "code") == 128 + _SIGBUS), None)
    gone = silent_death(evidence)
    return told or (gone if gone is not None and killed_by(gone) == _SIGBUS else None)


def _sizes(event: Event) -> tuple[Claim, ...]:
    required, free, segment = size(event, "required"), size(event, "free"), size(event, "size")
    if required is not None and free is not None:
        return (claim("HOST102.sizes", line_of(event), required=required.value, free=free.value),)
    return (claim("HOST102.segment", line_of(event), size=segment.value),) if segment else ()


def _mount(evidence: Evidence) -> tuple[Claim, ...]:
    shm = evidence.workload.shm if evidence.workload else None
    if shm is None:
        return ()
    if not shm.mounted:
        return (claim("HOST102.unmounted", "manifest"),)
    return (claim("HOST102.mounted", "manifest", written=shm.size),) if shm.size else ()
