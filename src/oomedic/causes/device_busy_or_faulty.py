"""The GPU itself cannot be used: faulty, lost, or held in another mode.

What you see
------------
"uncorrectable ECC error encountered", "GPU has fallen off the bus", an Xid 48, 63, 64, 74, 79, 92, 94 or 95 in the kernel's
log, "CUDA-capable device(s) is/are busy or unavailable", "NVMLError_GpuIsLost", "Failed to initialize NVML: Unknown Error".

Why it happens
--------------
Memory cells or links of the card are broken, or the card lost its place on the bus: then every process on it fails, whatever
its size. "Busy or unavailable" comes from exclusive compute mode, from MPS or MIG settings that do not match the request, and
from a card whose reset is pending. "Unknown Error" of NVML in a running container: the node took the device away (a systemd
reload with cgroup v2).

Example
-------
    $ oomedic diagnose -
    RuntimeError: CUDA error: uncorrectable ECC error encountered

    $ oomedic diagnose -
    RuntimeError: CUDA error: CUDA-capable device(s) is/are busy or unavailable

Not this
--------
    $ oomedic diagnose -
    RuntimeError: CUDA error: an illegal memory access was encountered

What helps, in order, and why
-----------------------------
Cordon the node and reset or replace the card (a restart of the node clears what can be cleared). Without sharing (MPS,
exclusive mode), where the card is only busy. Another node.

What makes it worse
-------------------
Restarting the pod on the same card again and again. Memory settings play no part.

Since
-----
All releases.

Says
----
ecc: The memory of the GPU has an error that cannot be corrected: the hardware is faulty.
lost: The GPU is not reachable any more: it fell off the bus or was taken away from the container.
busy: The GPU is busy or unavailable: it is in another mode of sharing, or waits for a reset.
xid: The driver reports Xid {xid}: an error of the hardware.
initialisation: CUDA could not be initialised (error {code}).
"""

from oomedic.cause import cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import count, line_of
from oomedic.logs.signatures import Event
from oomedic.symptoms.failures import failure

_OF_THE_PROGRAM = frozenset({13, 31, 43, 45})
_CODES = frozenset({101, 999, 800, 801, 805})
_READS = (
    "uncorrectable_ecc",
    "device_busy",
    "gpu_xid",
    "nvml_failed",
    "cuda_initialisation",
    "container_toolkit_refused",
)


@cause(
    "GPU103",
    "device-busy-or-faulty",
    reads=_READS,
    helps=("FIX411", "FIX405", "FIX410", "FIX413", "FIX412"),
    useless=("FIX101", "FIX102", "FIX103", "FIX104", "FIX105", "FIX107", "FIX108", "FIX201"),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise an error of the card, whenever it comes."""
    event = next((event for event in evidence.all(*_READS) if _concerns(event)), None)
    if event is None or failure(evidence, event.signature) is None:
        return None
    phase = evidence.phase_of(event) or "other"
    return Finding("GPU103", "device-busy-or-faulty", "certain", (_said(event),), event.line, phase)


def _concerns(event: Event) -> bool:
    if event.signature == "gpu_xid":
        return count(event, "xid") not in _OF_THE_PROGRAM
    if event.signature == "nvml_failed":
        return "ismatch" not in event.quote
    if event.signature == "cuda_initialisation":
        return count(event, "code") in _CODES
    if event.signature == "container_toolkit_refused":
        return "device error" in event.quote
    return True


def _said(event: Event) -> Claim:
    where = line_of(event)
    if event.signature == "uncorrectable_ecc":
        return claim("GPU103.ecc", where)
    if event.signature == "gpu_xid":
        return claim("GPU103.xid", where, xid=count(event, "xid"))
    if event.signature == "cuda_initialisation":
        return claim("GPU103.initialisation", where, code=count(event, "code"))
    return claim("GPU103.busy" if "unavailable" in event.quote else "GPU103.lost", where)
