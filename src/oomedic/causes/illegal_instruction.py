"""The image needs a newer processor.

Native code in the image uses instructions that the node's processor does not have.

What you see
------------
"Illegal instruction (core dumped)", exit code 132, a process with exit code -4 (SIGILL), or "CPU does not support
x86-64-v3". Nothing of the model was loaded yet.

Why it happens
--------------
Wheels and images are built for a level of the instruction set: AVX2 or AVX512 for the CPU backend, newer ARM extensions for
arm64 builds. Older nodes, and virtual machines that hide extensions, lack them.

Example
-------
    $ oomedic diagnose -
    Fatal Python error: Illegal instruction

Not this
--------
An image for another kind of processor does not even start:

    $ oomedic diagnose -
    exec /usr/local/bin/python3: exec format error

What helps, in order, and why
-----------------------------
A node with a newer processor; an image that is built for this one.

What makes it worse
-------------------
Nothing; memory settings play no part.

Since
-----
All releases.

Says
----
summary: The processor of the node does not know an instruction that this image uses.
needed: The image needs a processor of level {needed}.
"""

from oomedic.cause import cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import count, line_of, text
from oomedic.logs.signatures import Event
from oomedic.symptoms.failures import failure
from oomedic.symptoms.silence import killed_by, silent_death

_SIGILL = 4
_PRINTED = ("illegal_instruction", "processor_too_old")


@cause(
    "HOST106",
    "illegal-instruction",
    reads=(*_PRINTED, "exit_signal", "worker_died", "engine_core_initialization_failed"),
    helps=("FIX410", "FIX407"),
    useless=("FIX101", "FIX102", "FIX103", "FIX104", "FIX105", "FIX107", "FIX108"),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise SIGILL, or a library that says what it needs."""
    event = failure(evidence, *_PRINTED) or _signal(evidence)
    if event is None:
        return None
    claims = (claim("HOST106.summary", line_of(event)), *_needed(event))
    return Finding("HOST106", "illegal-instruction", "certain", claims, event.line, "other")


def _signal(evidence: Evidence) -> Event | None:
    told = next((event for event in evidence.all("exit_signal") if count(event, "code") == 128 + _SIGILL), None)
    gone = silent_death(evidence)
    return told or (gone if gone is not None and killed_by(gone) == _SIGILL else None)


def _needed(event: Event) -> tuple[Claim, ...]:
    needed = text(event, "needed")
    return () if needed is None else (claim("HOST106.needed", line_of(event), needed=needed),)
