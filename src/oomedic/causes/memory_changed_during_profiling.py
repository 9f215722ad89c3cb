"""GPU memory changed while the engine measured it.

The engine measures its own needs by comparing free memory before and after a test run. Another process released or took
memory in between, so that the measurement means nothing, and vLLM stops.

What you see
------------
"AssertionError: Error in memory profiling. Initial free memory X, current free memory Y": Y is not below X although the
weights were loaded meanwhile.

Why it happens
--------------
Usually the previous life of the container, or another engine on the same card, was still giving back its memory. On
platforms that report free memory coarsely the same assertion fires without any neighbour; that is a defect of the
release (the comparison was strict up to 0.13).

Example
-------
    $ oomedic diagnose -
    AssertionError: Error in memory profiling. Initial free memory 40.13 GiB, current free memory 43.51 GiB. This happens when other processes sharing the same container release GPU memory while vLLM is profiling during initialization. To fix this, ensure consistent GPU memory allocation or isolate vLLM in its own container.

Not this
--------
    $ oomedic diagnose -
    ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.

What helps, in order, and why
-----------------------------
Start again alone: once nothing else changes its memory, the measurement is right. Where the figures are equal, another
engine version.

What makes it worse
-------------------
Nothing; but no memory setting helps either: the engine never came to use them.

Since
-----
0.4; in GiB since 0.9.1.

Says
----
summary: Another process changed its GPU memory while the engine was measuring its own.
figures: Free memory was {initial} before and {current} after the weights were loaded; it should have fallen.
equal: Both figures are equal: this release compares them strictly and stops where a platform reports coarsely.
"""

from oomedic.cause import cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.figure import Figure
from oomedic.finding import Finding
from oomedic.logs.fields import line_of
from oomedic.logs.signatures import Event
from oomedic.units import gib


@cause(
    "OOM104",
    "memory-changed-during-profiling",
    reads=("memory_changed_while_profiling",),
    helps=("FIX405", "FIX501"),
    useless=("FIX101", "FIX102", "FIX103", "FIX104", "FIX105", "FIX107", "FIX108"),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise the assertion."""
    event = evidence.first("memory_changed_while_profiling")
    if event is None:
        return None
    summary = claim("OOM104.summary", line_of(event))
    return Finding(
        "OOM104", "memory-changed-during-profiling", "certain", (summary, *_figures(event)), event.line, "profile_run"
    )


def _figures(event: Event) -> tuple[Claim, ...]:
    initial, current = event.fields.get("free_before"), event.fields.get("free_after")
    if initial is None or current is None:
        return ()
    figures = claim("OOM104.figures", line_of(event), initial=_written(initial), current=_written(current))
    equal = (claim("OOM104.equal", line_of(event)),) if _written(initial) == _written(current) else ()
    return (figures, *equal)


def _written(value: object) -> str:
    return gib(value.value) if isinstance(value, Figure) else str(value)
