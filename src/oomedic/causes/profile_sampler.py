"""The sampler's dummy requests do not fit in the profile run.

At the end of the profile run the engine samples for as many dummy requests as it may ever run at once. Their logits, sorted
copies and probabilities do not fit beside the weights.

What you see
------------
"CUDA out of memory occurred when warming up sampler with N dummy requests" before "Available KV cache memory", or the same
error with profile_run and _dummy_sampler_run in the traceback.

Why it happens
--------------
About 38 bytes per dummy request and entry of the vocabulary: 1,024 requests over 152,000 entries are 5.5 GiB. The default
max_num_seqs is 256 on smaller cards, 1,024 on cards of 70 GiB and more (0.8.0 to 0.8.4: everywhere).

Example
-------
    $ oomedic diagnose -
    INFO [gpu_model_runner.py:2653] Model loading took 14.99 GiB and 4.5 seconds
    File "/usr/local/lib/python3.12/dist-packages/vllm/v1/worker/gpu_worker.py", line 185, in determine_available_memory
    File "/usr/local/lib/python3.12/dist-packages/vllm/v1/worker/gpu_model_runner.py", line 1548, in _dummy_sampler_run
    RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy requests. Please try lowering `max_num_seqs` or `gpu_memory_utilization` when initializing the engine.

Not this
--------
After the cache was allocated the same words mean the warm-up (OOM502):

    $ oomedic diagnose -
    INFO [gpu_worker.py:298] Available KV cache memory: 3.11 GiB
    INFO [kv_cache_utils.py:1087] GPU KV cache size: 25,488 tokens
    INFO [gpu_model_runner.py:3118] Graph capturing finished in 23 secs, took 0.28 GiB
    RuntimeError: CUDA out of memory occurred when warming up sampler with 256 dummy requests. Please try lowering `max_num_seqs` or `gpu_memory_utilization` when initializing the engine.

What helps, in order, and why
-----------------------------
Fewer sequences: the only setting that the sampler's size follows. Fewer batched tokens where they are the smaller number.

What makes it worse
-------------------
gpu_memory_utilization changes nothing, although the message names it: it is not looked at before the cache is sized.

Since
-----
0.8.0.

Says
----
summary: Sampling for {requests} dummy requests in the profile run ran out of memory.
forecast: By our arithmetic sampling for {max_num_seqs} dummy requests in the profile run does not fit beside the weights: it lacks {missing:gib}.
size: Logits and sorting take about {sampler:gib} for {requests} requests over a vocabulary of {vocabulary}.
"""

from oomedic.cause import cause
from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import count, line_of
from oomedic.symptoms.exhaustion import EXHAUSTION, exhaustion, touches_sampler
from oomedic.symptoms.forecast import forecast
from oomedic.symptoms.sampling import sampler_claims

_NAME = ("OOM303", "profile-sampler")


@cause(
    "OOM303",
    "profile-sampler",
    reads=EXHAUSTION,
    helps=("FIX104", "FIX105", "FIX301", "FIX201", "FIX303"),
    useless=("FIX101", "FIX102", "FIX103", "FIX107", "FIX108"),
    narrows=("OOM301",),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise the sampler's request in the profile run."""
    found = exhaustion(evidence)
    if found is None:
        return forecast(
            evidence, _NAME, "OOM303.forecast", "profile_run", facts=("max_num_seqs", "missing"), peak=("sampler",)
        )
    if found.phase != "profile_run" or not touches_sampler(evidence, found.event):
        return None
    requests = count(evidence.first("warm_up_out_of_memory"), "requests")
    if requests is None and evidence.config is not None:
        requests = evidence.config.integer("max_num_seqs")
    summary = claim("OOM303.summary", line_of(found.event), requests=requests)
    return Finding(
        *_NAME,
        "certain" if found.proven else "likely",
        (summary, *sampler_claims(evidence, "OOM303.size", requests)),
        found.event.line,
        "profile_run",
    )
