"""The host uses the same memory as the GPU.

On devices with one memory for both (GB10, Jetson, Thor) page cache, other containers and leftovers of earlier starts all
reduce what the engine finds free.

What you see
------------
"Free memory on device cuda:0 (F/T GiB) on startup is less than desired GPU memory utilization (u, R GiB)" on a card whose
total is the host's memory. Or the device cannot be opened at all ("CUDA error: out of memory" in init_device), or the
kernel's log shows NV_ERR_NO_MEMORY of NVIDIA's driver, after which the whole host may hang.

Why it happens
--------------
vLLM takes the host's available memory as the GPU's free memory there. A share that is normal on a card of its own leaves
nothing to the operating system.

Example
-------
    $ oomedic diagnose --gpu GB10 -
    ValueError: Free memory on device cuda:0 (109.53/121.69 GiB) on startup is less than desired GPU memory utilization (0.91, 110.74 GiB)

Not this
--------
    $ oomedic diagnose --gpu H100 -
    ValueError: Free memory on device cuda:0 (60.53/79.11 GiB) on startup is less than desired GPU memory utilization (0.91, 71.99 GiB)

What helps, in order, and why
-----------------------------
A lower gpu_memory_utilization that leaves the host its part; stopping what else runs on the host; a higher
memory limit of the container, where that is what ended it.

What makes it worse
-------------------
A higher gpu_memory_utilization: the host itself may hang.

Since
-----
0.9.1.

Says
----
summary: Host and GPU share one memory of {total:gib} here; {held:gib} of it is in use before the engine starts.
opening: The device could not be opened for lack of memory. Host and GPU share one memory here, and page cache and other processes fill it; the engine had taken none yet.
driver: NVIDIA's driver found no memory for the GPU. Host and GPU share one memory here: what the engine takes, the host lacks.
driver-alone: Starts that succeed print that as well; what the engine printed last decides.
killed: Host and GPU share one memory here: the host ran out of what weights, activations and the KV cache left to it.
check: {free:gib} is free at the start, the engine is told to use {requested:gib}.
"""

from oomedic.cause import cause
from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import line_of, size
from oomedic.symptoms.failures import outweighed
from oomedic.symptoms.free_memory import held_at_start, is_unified
from oomedic.symptoms.opening import opening_failed

_DEATHS = ("process_killed", "worker_died", "engine_dead", "engine_core_failed", "engine_core_initialization_failed")
_NAME = ("OOM105", "unified-memory-host-share")


@cause(
    "OOM105",
    "unified-memory-host-share",
    reads=("free_memory_below_request", "driver_no_memory", "cuda_driver_out_of_memory", "process_killed"),
    helps=("FIX103", "FIX405", "FIX402"),
    useless=("FIX101", "FIX104", "FIX105", "FIX107", "FIX108"),
    worsens=("FIX102",),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise a failed check, or a driver without memory, on a device whose memory is the host's."""
    if not is_unified(evidence):
        return None
    return _at_the_check(evidence) or _at_the_device(evidence) or _in_the_kernel(evidence) or _killed(evidence)


def _at_the_device(evidence: Evidence) -> Finding | None:
    event = opening_failed(evidence)
    if event is None:
        return None
    claims = (claim("OOM105.opening", line_of(event)),)
    return Finding(*_NAME, "likely", claims, event.line, "free_memory_check")


def _in_the_kernel(evidence: Evidence) -> Finding | None:
    event = evidence.first("driver_no_memory")
    if event is None or evidence.first("server_ready") is not None:
        return None
    said = claim("OOM105.driver", line_of(event))
    phase = evidence.phase_of(event) or "other"
    if evidence.first(*_DEATHS) is None:
        return Finding(*_NAME, "possible", (said, claim("OOM105.driver-alone")), event.line, phase)
    return Finding(*_NAME, "likely", (said,), event.line, phase)


def _killed(evidence: Evidence) -> Finding | None:
    """Recognise the kernel's kill: on such a device the engine's own share is what the host lacks."""
    event = next((each for each in evidence.all("process_killed") if each.fields.get("oom")), None)
    said = evidence.first("process_killed") if event is None else event
    if said is None or evidence.first("probe_failed") or outweighed(evidence, said):
        return None
    claims = (claim("OOM105.killed", line_of(said)),)
    return Finding(*_NAME, "possible" if event is None else "likely", claims, said.line, "host_oom")


def _at_the_check(evidence: Evidence) -> Finding | None:
    event = evidence.first("free_memory_below_request")
    held = held_at_start(event)
    if event is None or held is None:
        return None
    free, total, requested = size(event, "free"), size(event, "total"), size(event, "requested")
    if free is None or total is None or requested is None:
        return None
    summary = claim("OOM105.summary", line_of(event), total=total.value, held=max(0, held.value))
    check = claim("OOM105.check", line_of(event), free=free.value, requested=requested.value)
    return Finding(*_NAME, "certain", (summary, check), event.line, "free_memory_check")
