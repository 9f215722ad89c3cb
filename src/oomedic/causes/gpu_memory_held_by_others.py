"""Other processes hold GPU memory.

The engine finds less free memory than it was told to use, because something else already lives on the card: another
server, a stage of the same pipeline, a notebook, or the previous life of this very container that is not quite dead.

What you see
------------
"Free memory on device cuda:0 (F/T GiB) on startup is less than desired GPU memory utilization (u, R GiB)" since 0.9.1.
Before, an out-of-memory error in any phase, whose list shows other processes with gigabytes in use; or the driver's bare
"CUDA error: out of memory" while the device is opened (init_device), before anything was loaded.

Why it happens
--------------
gpu_memory_utilization is a share of the whole card, not of what is free. Since 0.9.1 the engine checks at the start that
this much is free; earlier releases run into it later. Two engines on one card need shares that add up to less than about
0.95, and must not start at the same moment. After a crash a worker can hold its memory for seconds while the container
already restarts.

Example
-------
    $ oomedic diagnose -
    ValueError: Free memory on device cuda:0 (36.75/79.11 GiB) on startup is less than desired GPU memory utilization (0.9, 71.2 GiB).

Five other processes share this card:

    $ oomedic diagnose -
    torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 418.00 MiB. GPU 0 has a total capacity of 23.69 GiB of which 193.25 MiB is free. Process 1254 has 730.00 MiB memory in use. Process 1243 has 424.00 MiB memory in use. Process 1348 has 3.70 GiB memory in use. Process 1892152 has 2.96 GiB memory in use. Process 2167142 has 14.90 GiB memory in use.

Not this
--------
Here the one process in the list is the engine itself: torch allocated 63.77 GiB of its 64.26 GiB.

    $ oomedic diagnose -
    torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 56.25 GiB. GPU 0 has a total capacity of 79.33 GiB of which 15.06 GiB is free. Process 58550 has 64.26 GiB memory in use. Of the allocated memory 63.77 GiB is allocated by PyTorch, and 8.42 MiB is reserved by PyTorch but unallocated.

What helps, in order, and why
-----------------------------
Stop what holds the memory, or give the engine a card of its own. Where the card is meant to be shared, a lower
gpu_memory_utilization that leaves the neighbour its part.

What makes it worse
-------------------
A higher gpu_memory_utilization. Shorter requests, eager mode or an fp8 cache change nothing: none of them is looked at
before the check.

Since
-----
The check since 0.9.1; the situation in all releases.

Says
----
summary: Other processes hold {held:gib} of this GPU's memory.
before: The card was full before the engine allocated anything: something else holds its memory.
check: {free:gib} of {total:gib} is free at the start, the engine is told to use {requested:gib}.
list: Of {total:gib}, other processes hold {held:gib}, this engine {own:gib}; {free:gib} is free.
list-unknown: Of {total:gib}, other processes hold at least {held:gib}; {free:gib} is free.
"""

from oomedic.cause import cause
from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import line_of, size
from oomedic.symptoms.exhaustion import EXHAUSTION, Exhaustion, exhaustion, shortage
from oomedic.symptoms.free_memory import held_at_start, is_shared_on_purpose, is_unified
from oomedic.symptoms.opening import opening_failed
from oomedic.symptoms.siblings import are_siblings
from oomedic.units import GIB

_NEIGHBOUR = GIB
"""A display or a monitoring agent holds less; a process that matters holds more."""


@cause(
    "OOM101",
    "gpu-memory-held-by-others",
    reads=("free_memory_below_request", *EXHAUSTION),
    helps=("FIX405", "FIX103", "FIX412"),
    useless=("FIX101", "FIX104", "FIX105", "FIX107", "FIX108", "FIX112", "FIX201"),
    worsens=("FIX102",),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise a failed start-up check, or an exhausted card of which others hold a part that would have sufficed."""
    return _at_the_check(evidence) or _later(evidence) or _before_loading(evidence)


def _at_the_check(evidence: Evidence) -> Finding | None:
    event = evidence.first("free_memory_below_request")
    held = held_at_start(event)
    if event is None or held is None or held.value < _NEIGHBOUR:
        return None
    if is_unified(evidence) or is_shared_on_purpose(evidence):
        return None
    free, total, requested = size(event, "free"), size(event, "total"), size(event, "requested")
    if free is None or total is None or requested is None:
        return None
    summary = claim("OOM101.summary", line_of(event), held=held.value)
    check = claim("OOM101.check", line_of(event), free=free.value, total=total.value, requested=requested.value)
    return Finding("OOM101", "gpu-memory-held-by-others", "certain", (summary, check), event.line, "free_memory_check")


def _later(evidence: Evidence) -> Finding | None:
    found = exhaustion(evidence)
    message = found.message if found else None
    missing = shortage(message)
    if found is None or message is None or message.others is None or missing is None:
        return None
    if message.others.low < max(_NEIGHBOUR, missing) or _weights_are_too_large(evidence):
        return None
    if are_siblings(evidence, message):
        return None
    return _listed(found)


def _before_loading(evidence: Evidence) -> Finding | None:
    event = opening_failed(evidence)
    if event is None or is_unified(evidence):
        return None
    said = claim("OOM101.before", line_of(event))
    return Finding("OOM101", "gpu-memory-held-by-others", "likely", (said,), event.line, "free_memory_check")


def _weights_are_too_large(evidence: Evidence) -> bool:
    """Tell whether the engine would not fit on an empty card either."""
    budget = evidence.assessment.budget if evidence.assessment else None
    weights = budget.item("weights") if budget else None
    return bool(budget and weights and budget.total and weights.low > budget.total.value)


def _listed(found: Exhaustion) -> Finding:
    message = found.message
    if message is None or message.others is None or message.total is None or message.free is None:
        raise AssertionError(found)
    where = line_of(found.event)
    figures = {"total": message.total.value, "held": message.others.value, "free": message.free.value}
    listed = (
        claim("OOM101.list", where, own=message.own.value, **figures)
        if message.own
        else claim("OOM101.list-unknown", where, **figures)
    )
    summary = claim("OOM101.summary", where, held=message.others.value)
    return Finding("OOM101", "gpu-memory-held-by-others", "certain", (summary, listed), found.event.line, found.phase)
