"""The swap space in host memory is full (V0).

Too many long requests ran at once. V0 moved some of them to host memory, and the space for that is used up as well.

What you see
------------
"Aborted due to the lack of CPU swap space. Please increase the swap space to avoid this error.", after warnings that
sequence groups are preempted by PreemptionMode.SWAP.

Why it happens
--------------
When the KV cache is full, V0 preempts requests. Requests with several sequences (beam search, best_of, n > 1) cannot be
computed anew, so that their cache is copied to the swap space of swap_space GiB per GPU. V1 computes them anew and has no
swap space.

Example
-------
    $ oomedic diagnose -
    RuntimeError: Aborted due to the lack of CPU swap space. Please increase the swap space to avoid this error.

Not this
--------
At the start the swap space can be too large, which is the opposite:

    $ oomedic diagnose -
    ValueError: Too large swap space. 4.00 GiB out of the 4.30 GiB total CPU memory is allocated for the swap space.

What helps, in order, and why
-----------------------------
Fewer sequences at once, so that the KV cache does not overflow; a larger KV cache by a higher gpu_memory_utilization; a
larger swap_space, where the pod has host memory for it; the V1 engine, which needs none.

What makes it worse
-------------------
A lower gpu_memory_utilization: the KV cache overflows sooner. A smaller swap_space.

Since
-----
V0 (until 0.10); V1 has no swap space.

Says
----
summary: Requests that were set back no longer fit into the swap space in host memory.
why: The KV cache overflowed first: too many or too long requests ran at once.
preempted: {count} {count:plural request|requests} had been set back before.
"""

from oomedic.cause import cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import line_of


@cause(
    "OOM603",
    "cpu-swap-exhausted",
    reads=("cpu_swap_exhausted",),
    helps=("FIX104", "FIX102", "FIX113", "FIX504"),
    useless=("FIX107", "FIX112"),
    worsens=("FIX103", "FIX115"),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise the engine's own words."""
    event = evidence.first("cpu_swap_exhausted")
    if event is None:
        return None
    where = line_of(event)
    claims = (claim("OOM603.summary", where), claim("OOM603.why"), *_preempted(evidence))
    return Finding("OOM603", "cpu-swap-exhausted", "certain", claims, event.line, "runtime")


def _preempted(evidence: Evidence) -> tuple[Claim, ...]:
    before = tuple(evidence.all("request_preempted"))
    return (claim("OOM603.preempted", line_of(before[0]), count=len(before)),) if before else ()
