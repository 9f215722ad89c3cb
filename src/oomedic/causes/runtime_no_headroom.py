"""A running server had no memory left outside its KV cache.

The engine started, but so close to the edge that the first real batches ran out of memory.

What you see
------------
An out-of-memory error after the server was up: a few hundred MiB were asked for and less than that was free. The words
"allocated in private pools (e.g., CUDA Graphs)" say that graphs exist, not that they failed.

Why it happens
--------------
The KV cache takes what weights, graphs and the profiled peak leave of the request. Fragments, workspaces of attention
backends, connectors that move the cache, adapters and longer prompts than the profiled ones must fit into what lies outside
gpu_memory_utilization, which at 0.95 or more of a small card is next to nothing.

Example
-------
    $ oomedic diagnose -
    INFO:     Application startup complete.
    (EngineCore pid=4108) ERROR 05-28 08:00:36 [core.py:1142] EngineCore encountered a fatal error.
    (EngineCore pid=4108) ERROR 05-28 08:00:36 [core.py:1142] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 192.00 MiB. GPU 0 has a total capacity of 23.56 GiB of which 83.25 MiB is free. Including non-PyTorch memory, this process has 23.47 GiB memory in use. Of the allocated memory 22.43 GiB is allocated by PyTorch, with 74.00 MiB allocated in private pools (e.g., CUDA Graphs), and 343.54 MiB is reserved by PyTorch but unallocated.

Not this
--------
Here the server was not up yet: graphs were being captured.

    $ oomedic diagnose -
    Capturing CUDA graphs (decode, FULL):   9%|▊         | 3/35 [00:00<00:09,  3.30it/s]
    ERROR 10-23 08:05:13 [core.py:708] EngineCore failed to start.
    ERROR 10-23 08:05:13 [core.py:708] RuntimeError: Worker failed with error 'CUDA error: out of memory

What helps, in order, and why
-----------------------------
A lower gpu_memory_utilization gives the running server room; so does a fixed, smaller KV cache. Smaller batches and fewer
sequences need less. Expandable segments where much memory is reserved but unallocated.

What makes it worse
-------------------
A higher gpu_memory_utilization, the advice that helps against a KV cache that is too small.

Since
-----
All releases.

Says
----
summary: A running server ran out of GPU memory: nothing was left outside its KV cache.
asked: It asked for {tried:gib} when {free:gib} were free.
outgrew: PyTorch held {allocated:gib}, more than the {requested:gib} that a start may take: requests were being served. The lines before the error decide.
"""

from oomedic.cause import cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import line_of
from oomedic.symptoms.exhaustion import EXHAUSTION, Exhaustion
from oomedic.symptoms.serving import exhaustion_while_serving


@cause(
    "OOM602",
    "runtime-no-headroom",
    reads=EXHAUSTION,
    helps=("FIX112", "FIX103", "FIX109", "FIX105", "FIX104", "FIX106", "FIX107", "FIX303"),
    useless=("FIX101", "FIX108"),
    worsens=("FIX102",),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise memory that ran out in a running server, whatever its size."""
    found = exhaustion_while_serving(evidence)
    if found is None:
        return None
    claims = (claim("OOM602.summary", line_of(found.event)), *_asked(found), *_outgrew(evidence, found))
    return Finding(
        "OOM602",
        "runtime-no-headroom",
        "certain" if found.proven else "likely",
        claims,
        found.event.line,
        "runtime",
    )


def _asked(found: Exhaustion) -> tuple[Claim, ...]:
    message = found.message
    if message is None or message.tried is None or message.free is None:
        return ()
    return (claim("OOM602.asked", line_of(found.event), tried=message.tried.value, free=message.free.value),)


def _outgrew(evidence: Evidence, found: Exhaustion) -> tuple[Claim, ...]:
    """Say how arithmetic places the error, where no line does."""
    budget = evidence.assessment.budget if evidence.assessment else None
    allocated = found.message.allocated if found.message else None
    if found.proven or allocated is None or budget is None or budget.requested is None:
        return ()
    sizes = {"allocated": allocated.value, "requested": budget.requested.value}
    return (claim("OOM602.outgrew", line_of(found.event), **sizes),)
