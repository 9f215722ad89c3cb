"""Waking up from sleep found no room.

The engine slept and gave back its memory, as in training loops that share a card with the engine. When it woke, someone else
held what it needs.

What you see
------------
"CUDA Error: out of memory at …/cumem_allocator.cpp", without any sizes, or an out-of-memory error with wake_up in the
traceback.

Why it happens
--------------
Sleep mode maps weights and KV cache anew at every waking, through an allocator of vLLM's own which reports the driver's
bare error. The trainer, or the cache of its allocator, still holds part of the card at that moment. Releases from 0.20 on
size the KV cache several GiB larger at the same gpu_memory_utilization, so that a recipe that worked stops working.

Example
-------
    $ oomedic diagnose -
    INFO 05-28 08:00:36 [cumem.py:228] It took 3.9 seconds to fall asleep.
    RuntimeError: CUDA Error: out of memory at /workspace/csrc/cumem_allocator.cpp:62

Not this
--------
The same allocator can run out at the start, where nothing slept yet:

    $ oomedic diagnose -
    INFO 10-23 08:04:02 [kv_cache_utils.py:1087] GPU KV cache size: 796,000 tokens
    Capturing CUDA graphs (decode, FULL):   9%|▊         | 3/35 [00:00<00:09,  3.30it/s]
    RuntimeError: CUDA Error: out of memory at /workspace/csrc/cumem_allocator.cpp:62

What helps, in order, and why
-----------------------------
A fixed KV cache in bytes, which does not follow what the card had free at the start; a lower gpu_memory_utilization; the
trainer giving its cache back (torch.cuda.empty_cache) before the engine wakes.

What makes it worse
-------------------
A higher gpu_memory_utilization. Expandable segments do not go together with sleep mode before 0.21.

Since
-----
0.7 (sleep mode).

Says
----
summary: Waking from sleep could not map the engine's memory again: something else held it.
unsure: The allocator of sleep mode ran out of memory; the log does not show whether the engine was waking up or starting.
"""

from oomedic.cause import cause
from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Confidence, Finding
from oomedic.logs.fields import line_of
from oomedic.logs.phases import frames_of
from oomedic.logs.signatures import Event
from oomedic.symptoms.exhaustion import EXHAUSTION, exhaustion


@cause(
    "OOM604",
    "sleep-wake-remap",
    reads=EXHAUSTION,
    helps=("FIX109", "FIX103", "FIX405"),
    useless=("FIX101", "FIX108", "FIX112"),
    worsens=("FIX102",),
    narrows=("OOM601", "OOM602"),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise the allocator of sleep mode, or the waking in the traceback."""
    found = exhaustion(evidence)
    if found is None:
        return None
    slept = any(event.line < found.event.line for event in evidence.all("sleep_freed", "sleep_switched"))
    waking = _wakes(found.event, evidence)
    unplaced = found.event.signature == "cumem_out_of_memory" and found.phase is None
    if not waking and not unplaced and not (slept and found.event.signature == "cumem_out_of_memory"):
        return None
    sure: Confidence = "certain" if waking else "likely" if slept else "possible"
    message = "OOM604.unsure" if sure == "possible" else "OOM604.summary"
    claims = (claim(message, line_of(found.event)),)
    return Finding("OOM604", "sleep-wake-remap", sure, claims, found.event.line, "runtime")


def _wakes(event: Event, evidence: Evidence) -> bool:
    return any("wake_up" in frame.quote for frame in frames_of(event, evidence.events))
