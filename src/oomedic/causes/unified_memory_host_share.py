"""The host uses the same memory as the GPU.

On devices with one memory for both (GB10, Jetson, Thor) page cache, other containers and leftovers of earlier starts all
reduce what the engine finds free.

What you see
------------
"Free memory on device cuda:0 (F/T GiB) on startup is less than desired GPU memory utilization (u, R GiB)" on a card whose
total is the host's memory.

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
A lower gpu_memory_utilization that leaves the host its part; stopping what else runs on the host.

What makes it worse
-------------------
A higher gpu_memory_utilization: the host itself may hang.

Since
-----
0.9.1.

Says
----
summary: Host and GPU share one memory of {total:gib} here; {held:gib} of it is in use before the engine starts.
check: {free:gib} is free at the start, the engine is told to use {requested:gib}.
"""

from oomedic.cause import cause
from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import line_of, size
from oomedic.symptoms.free_memory import held_at_start, is_unified


@cause(
    "OOM105",
    "unified-memory-host-share",
    reads=("free_memory_below_request",),
    helps=("FIX103", "FIX405"),
    useless=("FIX101", "FIX104", "FIX105", "FIX107", "FIX108"),
    worsens=("FIX102",),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise a failed check on a device whose memory is the host's."""
    event = evidence.first("free_memory_below_request")
    held = held_at_start(event)
    if event is None or held is None or not is_unified(evidence):
        return None
    free, total, requested = size(event, "free"), size(event, "total"), size(event, "requested")
    if free is None or total is None or requested is None:
        return None
    summary = claim("OOM105.summary", line_of(event), total=total.value, held=max(0, held.value))
    check = claim("OOM105.check", line_of(event), free=free.value, requested=requested.value)
    return Finding("OOM105", "unified-memory-host-share", "certain", (summary, check), event.line, "free_memory_check")
