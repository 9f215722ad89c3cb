"""Allocating the KV cache failed.

The engine worked out how large its cache may be, and then could not get that much: memory that it did not count was gone by
then.

What you see
------------
An out-of-memory error with _allocate_kv_cache, initialize_kv_cache or initialize_cache in the traceback, after the size of
the cache was printed.

Why it happens
--------------
The pool is what the request leaves, not what the card has free. Fragments, buffers of the runner and workspaces of attention
backends are outside that arithmetic (fragments and buffers until 0.27); with a high gpu_memory_utilization nothing is left
for them. A neighbour that took memory in the meantime does the same.

Example
-------
    $ oomedic diagnose -
    INFO [kv_cache_utils.py:1087] GPU KV cache size: 25,488 tokens
    ERROR 05-21 13:04:20 engine.py:389]     self.gpu_cache = self._allocate_kv_cache(
    ERROR 05-21 13:04:20 engine.py:389] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 418.00 MiB. GPU 0 has a total capacity of 23.69 GiB of which 193.25 MiB is free. Including non-PyTorch memory, this process has 23.44 GiB memory in use.

Not this
--------
    $ oomedic diagnose -
    INFO [gpu_model_runner.py:2653] Model loading took 14.99 GiB and 4.5 seconds
    torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.75 GiB. GPU 0 has a total capacity of 22.06 GiB of which 1.12 GiB is free. Including non-PyTorch memory, this process has 20.94 GiB memory in use.

What helps, in order, and why
-----------------------------
A lower gpu_memory_utilization makes the pool smaller and leaves room for what is not counted. A fixed
kv_cache_memory_bytes does the same to the byte.

What makes it worse
-------------------
A higher gpu_memory_utilization.

Since
-----
All releases.

Says
----
summary: The KV cache was sized, but allocating it ran out of memory.
forecast: By our arithmetic the GPU has no room for the KV cache that the engine is told to allocate: it lacks {missing:gib}.
asked: It asked for {tried:gib} when {free:gib} were free.
"""

from oomedic.cause import cause
from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import line_of
from oomedic.logs.phases import frame_phase
from oomedic.symptoms.exhaustion import EXHAUSTION, exhaustion
from oomedic.symptoms.forecast import forecast

_NAME = ("OOM404", "kv-allocation-oom")


@cause(
    "OOM404",
    "kv-allocation-oom",
    reads=EXHAUSTION,
    helps=("FIX103", "FIX109", "FIX405", "FIX112"),
    useless=("FIX101",),
    worsens=("FIX102",),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise the frames of the cache's allocation."""
    found = exhaustion(evidence)
    if found is None:
        return forecast(evidence, _NAME, "OOM404.forecast", "kv_alloc", facts=("missing",))
    if frame_phase(found.event, evidence.events) != "kv_alloc":
        return None
    claims = [claim("OOM404.summary", line_of(found.event))]
    message = found.message
    if message and message.tried is not None and message.free is not None:
        figures = {"tried": message.tried.value, "free": message.free.value}
        claims.append(claim("OOM404.asked", line_of(found.event), **figures))
    return Finding(*_NAME, "certain", tuple(claims), found.event.line, "kv_alloc")
