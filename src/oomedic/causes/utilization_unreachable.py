"""gpu_memory_utilization that not even an idle card offers.

The engine is told to use a share of the card that its own CUDA context, and with several GPUs NCCL, already make
impossible. Restarting can never help.

What you see
------------
"Free memory on device cuda:0 (F/T GiB) on startup is less than desired GPU memory utilization (u, R GiB)" where F is only
a few hundred MiB below T.

Why it happens
--------------
The check compares total x gpu_memory_utilization with what is free once the engine has its context: 0.17 to 0.6 GiB are
gone by then, and since 0.11 up to 1 GiB of NCCL on several GPUs. 1.0 can never pass, 0.98 only on large cards.

Example
-------
    $ oomedic diagnose -
    ValueError: Free memory on device cuda:0 (78.68/79.11 GiB) on startup is less than desired GPU memory utilization (1.0, 79.11 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.

Not this
--------
    $ oomedic diagnose -
    ValueError: Free memory on device cuda:0 (36.75/121.63 GiB) on startup is less than desired GPU memory utilization (0.85, 103.38 GiB).

What helps, in order, and why
-----------------------------
The largest utilisation that passes: free over total, rounded down.

What makes it worse
-------------------
A higher gpu_memory_utilization. Nothing else is looked at before the check.

Since
-----
0.9.1.

Says
----
summary: gpu_memory_utilization {utilization} asks for more than an idle GPU of this kind has free.
forecast: gpu_memory_utilization {utilization} asks for {requested:gib}; an idle GPU of this kind has about {free:gib} free.
check: {free:gib} of {total:gib} is free at the start, the engine is told to use {requested:gib}; its own context takes the difference.
"""

from oomedic.cause import cause
from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import line_of, ratio, size
from oomedic.symptoms.forecast import forecast
from oomedic.symptoms.free_memory import held_at_start, is_unified
from oomedic.units import GIB


@cause(
    "OOM102",
    "utilization-unreachable",
    reads=("free_memory_below_request",),
    helps=("FIX103",),
    useless=("FIX101", "FIX104", "FIX105", "FIX107", "FIX108", "FIX109", "FIX201", "FIX301"),
    worsens=("FIX102",),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise a failed check on a card that is as good as empty."""
    event = evidence.first("free_memory_below_request")
    if event is None:
        facts = ("utilization", "requested", "free")
        return forecast(
            evidence, ("OOM102", "utilization-unreachable"), "OOM102.forecast", "free_memory_check", facts=facts
        )
    held = held_at_start(event)
    if held is None or held.value >= GIB or is_unified(evidence):
        return None
    free, total, requested = size(event, "free"), size(event, "total"), size(event, "requested")
    if free is None or total is None or requested is None:
        return None
    summary = claim("OOM102.summary", line_of(event), utilization=ratio(event, "gpu_memory_utilization"))
    check = claim("OOM102.check", line_of(event), free=free.value, total=total.value, requested=requested.value)
    return Finding("OOM102", "utilization-unreachable", "certain", (summary, check), event.line, "free_memory_check")
