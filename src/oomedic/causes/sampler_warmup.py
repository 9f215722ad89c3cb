"""The sampler's warm-up ran out of memory.

After the KV cache and the CUDA graphs, the engine samples once for as many requests as it may ever run at once. What the
cache left is not enough for that.

What you see
------------
"CUDA out of memory occurred when warming up sampler with N dummy requests", after "Graph capturing finished".

Why it happens
--------------
Logits in fp32, a sorted copy with indices and probabilities: about 38 bytes per request and entry of the vocabulary, at once
and outside the cache. 0.8.0 raised the default max_num_seqs to 1,024, which makes gigabytes of it.

Example
-------
    $ oomedic diagnose -
    RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy requests. Please try lowering `max_num_seqs` or `gpu_memory_utilization` when initializing the engine.

Not this
--------
In the profile run the same words mean OOM303:

    $ oomedic diagnose -
    INFO [gpu_model_runner.py:2653] Model loading took 14.99 GiB and 4.5 seconds
    File "/usr/local/lib/python3.12/dist-packages/vllm/v1/worker/gpu_worker.py", line 185, in determine_available_memory
    RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy requests. Please try lowering `max_num_seqs` or `gpu_memory_utilization` when initializing the engine.

What helps, in order, and why
-----------------------------
Fewer sequences: half of them need half the memory. A lower gpu_memory_utilization leaves more outside the cache. Fewer CUDA
graphs, or none, as well.

What makes it worse
-------------------
A higher gpu_memory_utilization. max_model_len and an fp8 cache change nothing: the cache takes the same share.

Since
-----
0.8.0.

Says
----
summary: Warming up the sampler with {requests} dummy requests ran out of memory after the KV cache was allocated.
summary-unknown: Warming up the sampler ran out of memory after the KV cache was allocated.
forecast: By our arithmetic the KV cache leaves no room to warm up the sampler with {max_num_seqs} dummy requests: it lacks {missing:gib}.
size: Logits and sorting take about {sampler:gib} for {requests} requests over a vocabulary of {vocabulary}.
phase: The log does not show whether the KV cache was allocated by then; before that, the same words mean OOM303.
"""

from oomedic.cause import cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import count, line_of
from oomedic.logs.signatures import Event
from oomedic.symptoms.exhaustion import EXHAUSTION, exhaustion, touches_sampler
from oomedic.symptoms.forecast import forecast
from oomedic.symptoms.sampling import sampler_claims

_NAME = ("OOM502", "sampler-warmup")


@cause(
    "OOM502",
    "sampler-warmup",
    reads=(*EXHAUSTION, "graph_capture_done"),
    helps=("FIX104", "FIX103", "FIX106", "FIX107", "FIX109"),
    useless=("FIX101", "FIX108", "FIX201", "FIX301"),
    worsens=("FIX102",),
    narrows=("OOM501", "OOM404"),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise the sampler's request outside the profile run."""
    found = exhaustion(evidence)
    if found is None:
        return forecast(evidence, _NAME, "OOM502.forecast", "sampler_warmup", facts=("max_num_seqs", "missing"))
    if found.phase in {"profile_run", "weights_load", "runtime"}:
        return None
    if not touches_sampler(evidence, found.event):
        return None
    marked = evidence.phase_reached() in {"kv_alloc", "graph_capture", "sampler_warmup"}
    requests = count(evidence.first("warm_up_out_of_memory"), "requests")
    claims = (
        _summary(found.event, requests),
        *sampler_claims(evidence, "OOM502.size", requests),
        *(() if marked else (claim("OOM502.phase"),)),
    )
    return Finding(*_NAME, "certain" if marked else "likely", claims, found.event.line, "sampler_warmup")


def _summary(event: Event, requests: int | None) -> Claim:
    if requests is None:
        return claim("OOM502.summary-unknown", line_of(event))
    return claim("OOM502.summary", line_of(event), requests=requests)
