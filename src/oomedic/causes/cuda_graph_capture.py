"""Capturing CUDA graphs ran out of memory.

Weights and KV cache are in place; recording the model's work as CUDA graphs needs memory that the cache did not leave.

What you see
------------
An out-of-memory error while "Capturing CUDA graphs" is the last progress line, or with capture_model in the traceback. It is
often the driver's bare "CUDA error: out of memory". The words "private pools (e.g., CUDA Graphs)" alone only say that graphs
exist.

Why it happens
--------------
Up to 0.19, and with Model Runner V2 up to 0.29, graphs are not part of the request: they must fit into what
gpu_memory_utilization leaves free, together with the CUDA context, NCCL and workspaces. From 0.20 on an estimate is
subtracted, which can be too small. More GPUs do not make more room: the cache grows to the same share.

Example
-------
    $ oomedic diagnose -
    INFO 10-23 08:04:01 [gpu_worker.py:298] Available KV cache memory: 35.68 GiB
    INFO 10-23 08:04:02 [kv_cache_utils.py:1087] GPU KV cache size: 796,000 tokens
    Capturing CUDA graphs (decode, FULL):   9%|▊         | 3/35 [00:00<00:09,  3.30it/s]
    ERROR 10-23 08:05:13 [core.py:708] EngineCore failed to start.
    ERROR 10-23 08:05:13 [core.py:708] RuntimeError: Worker failed with error 'CUDA error: out of memory

Not this
--------
    $ oomedic diagnose -
    INFO [gpu_model_runner.py:2653] Model loading took 14.99 GiB and 4.5 seconds
    torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.75 GiB. GPU 0 has a total capacity of 22.06 GiB of which 1.12 GiB is free. Including non-PyTorch memory, this process has 20.94 GiB memory in use.

What helps, in order, and why
-----------------------------
A lower gpu_memory_utilization leaves more outside the cache. Fewer capture sizes, or fewer sequences from which they
follow, need less. Eager mode needs no graphs at all, at a price in speed.

What makes it worse
-------------------
A higher gpu_memory_utilization, the usual advice of "No available memory" errors: it takes exactly the memory that is
missing. max_model_len changes nothing.

Since
-----
All releases with CUDA graphs (0.2.7).

Says
----
summary: Capturing CUDA graphs ran out of memory after the KV cache was allocated.
on-trial: Capturing CUDA graphs on trial, to learn their size, ran out of memory: the weights leave no room for them. There is no KV cache yet, so that gpu_memory_utilization plays no part.
forecast: By our arithmetic the KV cache leaves no room for CUDA graphs: they lack {missing:gib}.
asked: It asked for {tried:gib} when {free:gib} were free.
outside: In this release graphs are not part of gpu_memory_utilization: they must fit into what it leaves.
pool: The KV cache had taken {pool:gib}.
"""

from oomedic.cause import cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import line_of
from oomedic.logs.phases import frame_phase
from oomedic.symptoms.exhaustion import EXHAUSTION, Exhaustion, exhaustion, touches_graphs, touches_sampler
from oomedic.symptoms.forecast import forecast

_NAME = ("OOM501", "cuda-graph-capture")


@cause(
    "OOM501",
    "cuda-graph-capture",
    reads=EXHAUSTION,
    helps=("FIX103", "FIX106", "FIX107", "FIX104", "FIX109"),
    useless=("FIX101", "FIX105", "FIX108", "FIX201", "FIX301"),
    worsens=("FIX102",),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise memory that ran out while graphs were captured."""
    found = exhaustion(evidence)
    if found is None:
        return forecast(evidence, _NAME, "OOM501.forecast", "graph_capture", facts=("missing",), what="cuda_graphs")
    if touches_sampler(evidence, found.event):
        return None
    if found.phase == "profile_run" and touches_graphs(evidence, found.event):
        claims = (claim("OOM501.on-trial", line_of(found.event)), *_asked(found))
        return Finding(*_NAME, "certain", claims, found.event.line, "profile_run")
    capturing = found.phase == "graph_capture"
    if not capturing and not _between_pool_and_graphs(evidence, found):
        return None
    claims = (claim("OOM501.summary", line_of(found.event)), *_asked(found), *_accounting(evidence))
    return Finding(*_NAME, "certain" if capturing else "likely", claims, found.event.line, "graph_capture")


def _between_pool_and_graphs(evidence: Evidence, found: Exhaustion) -> bool:
    """Tell whether the pool was sized and nothing else but graphs asks for memory next."""
    if found.phase != "kv_alloc" or frame_phase(found.event, evidence.events) is not None:
        return False
    return not (evidence.config is not None and evidence.config.flag("enforce_eager"))


def _asked(found: Exhaustion) -> tuple[Claim, ...]:
    message = found.message
    if message is None or message.tried is None or message.free is None:
        return ()
    return (claim("OOM501.asked", line_of(found.event), tried=message.tried.value, free=message.free.value),)


def _accounting(evidence: Evidence) -> tuple[Claim, ...]:
    claims = []
    pool = evidence.known.pool
    if pool is not None:
        claims.append(claim("OOM501.pool", pool.where, pool=pool.value))
    if evidence.config is not None and evidence.version_known and not evidence.config.graphs_budgeted:
        claims.append(claim("OOM501.outside", evidence.config.rules.where("graphs", "budgeted")))
    return tuple(claims)
