"""KV cache too small for one request.

The weights loaded and the profile run passed, but the KV cache that is left cannot hold a single request of
max_model_len tokens. vLLM refuses to start rather than to fail on the first long request.

What you see
------------
V1 prints how much one request needs and how much there is; V0 prints tokens. The last lines of the log are wrappers
("Engine core initialization failed. See root cause above") and say nothing.

Why it happens
--------------
The cache gets what the request leaves: total memory x gpu_memory_utilization, minus weights, activation peak and what
else the engine counts. One request of max_model_len tokens needs, for each layer with full attention,
2 x KV heads x head size x bytes per element for every token; latent attention (MLA) needs one row per token, sliding
windows no more than their window. max_model_len does not allocate anything by itself: it is only what one request is
held against.

Example
-------
    $ oomedic diagnose -
    ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB KV cache is needed, which is larger than the available KV cache memory (0.71 GiB). Based on the available memory, the estimated maximum model length is 5632. Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.

V0 counts tokens:

    $ oomedic diagnose -
    ValueError: The model's max seq len (4096) is larger than the maximum number of tokens that can be stored in KV cache (3792). Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.

Not this
--------
When nothing at all is left for the cache, length does not matter:

    $ oomedic diagnose -
    ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.

What helps, in order, and why
-----------------------------
A shorter max_model_len needs less and costs nothing but the length. A higher gpu_memory_utilization gives the cache what
the rest of the GPU has free. An fp8 cache halves what a token needs. Fewer batched tokens or sequences shrink the
activation peak. More GPUs split weights and cache; a quantised checkpoint makes room.

What makes it worse
-------------------
A lower gpu_memory_utilization, the usual advice against out-of-memory errors, takes memory away from the cache.
Eager mode gives nothing back before 0.20: until then CUDA graphs are not paid out of the request.

Since
-----
V0 0.2.7 (in tokens), V1 0.7.0 (in GiB); the estimate of the longest request since 0.9.1.

Says
----
summary: The KV cache cannot hold one request of {max_model_len} tokens.
forecast: By our arithmetic one request of {max_model_len} tokens needs {needed:gib} of KV cache; {available:gib} is left for it.
needed: One request of {max_model_len} tokens needs {needed:gib} of KV cache; the engine has {available:gib} for it.
tokens: The KV cache can hold {kv_tokens} tokens; one request may have {max_model_len}.
estimate: The engine itself says that requests of up to {estimated_max_model_len} tokens fit.
"""

from oomedic.cause import cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import count, line_of, size
from oomedic.logs.signatures import Event
from oomedic.symptoms.forecast import forecast

_NAME = ("OOM401", "kv-cache-too-small")


@cause(
    "OOM401",
    "kv-cache-too-small",
    reads=("kv_cache_too_small", "kv_cache_too_small_v0"),
    helps=(
        "FIX101",
        "FIX102",
        "FIX109",
        "FIX108",
        "FIX105",
        "FIX104",
        "FIX106",
        "FIX107",
        "FIX301",
        "FIX201",
        "FIX303",
    ),
    worsens=("FIX103",),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise the engine's own refusal."""
    event = evidence.first("kv_cache_too_small", "kv_cache_too_small_v0")
    if event is None:
        facts = ("max_model_len", "needed", "available")
        return forecast(evidence, _NAME, "OOM401.forecast", "kv_check", facts=facts, what="one request")
    length = count(event, "max_model_len") or 0
    summary = claim("OOM401.summary", line_of(event), max_model_len=length)
    return Finding(
        *_NAME,
        "certain",
        (summary, *_in_bytes(event, length), *_in_tokens(event, length), *_estimate(evidence)),
        event.line,
        "kv_check",
    )


def _in_bytes(event: Event, length: int) -> tuple[Claim, ...]:
    needed, available = size(event, "needed"), size(event, "available")
    if needed is None or available is None:
        return ()
    figures = {"needed": needed.value, "available": available.value}
    return (claim("OOM401.needed", line_of(event), max_model_len=length, **figures),)


def _in_tokens(event: Event, length: int) -> tuple[Claim, ...]:
    tokens = count(event, "tokens")
    return () if tokens is None else (claim("OOM401.tokens", line_of(event), kv_tokens=tokens, max_model_len=length),)


def _estimate(evidence: Evidence) -> tuple[Claim, ...]:
    for event in evidence.all("kv_cache_too_small"):
        length = count(event, "estimated_max_model_len")
        if length is not None:
            return (claim("OOM401.estimate", line_of(event), estimated_max_model_len=length),)
    return ()
