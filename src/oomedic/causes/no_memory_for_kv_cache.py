"""No memory for the KV cache.

Weights, activation peak and what else the engine counts use up the whole request, so that not one block of KV cache is
left. The length of a request plays no part yet.

What you see
------------
"No available memory for the cache blocks"; V0 also prints "# GPU blocks: 0" after a negative rest for the KV cache.

Why it happens
--------------
The request is total memory x gpu_memory_utilization. It is a ceiling for everything the engine holds, not the size of
the cache: 0.3 of an 80 GiB card is 24 GiB for weights, activations and cache together. What the profile run needs counts
in full: a large max_num_seqs (sampling), max_num_batched_tokens (activations) or images of the largest size (encoder).

Example
-------
    $ oomedic diagnose -
    ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.

V0 may end without that line:

    $ oomedic diagnose -
    INFO 02-26 09:54:05 worker.py:267] the current vLLM instance can use total_gpu_memory (8.00GiB) x gpu_memory_utilization (0.70) = 5.60GiB
    INFO 02-26 09:54:05 worker.py:267] model weights take 5.20GiB; non_torch_memory takes 0.03GiB; PyTorch activation peak memory takes 1.42GiB; the rest of the memory reserved for KV Cache is -1.05GiB.
    INFO 02-26 09:54:05 executor_base.py:111] # cuda blocks: 0, # CPU blocks: 4681

Not this
--------
    $ oomedic diagnose -
    ValueError: The model's max seq len (4096) is larger than the maximum number of tokens that can be stored in KV cache (3792). Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.

What helps, in order, and why
-----------------------------
A higher gpu_memory_utilization raises the ceiling. Fewer sequences and fewer batched tokens shrink the peak of the
profile run; smaller limits for images and videos shrink the encoder's. On V0 without chunked prefill a shorter
max_model_len shrinks it too, for the batch is as long as the longest request. From 0.20 on fewer CUDA graphs, or none, leave
more as well. More GPUs or quantised weights where the weights themselves are the bulk.

What makes it worse
-------------------
A lower gpu_memory_utilization. A shorter max_model_len changes nothing on V1: its profile run does not grow with the
length. An fp8 cache halves nothing: half of zero is zero.

Since
-----
All releases.

Says
----
summary: Nothing is left for the KV cache: weights and the profile run use up all that gpu_memory_utilization allows.
forecast: By our arithmetic nothing is left for the KV cache: weights and the profile run take {missing:gib} more than gpu_memory_utilization allows.
decoding: Decoding media on the GPU in the API server (mm_ipc_gpu_memory_gb) reserves more than is left for the KV cache.
outside: Weights that another process holds exceed what gpu_memory_utilization allows.
in-use-before: {used:gib} of the card was in use before the engine took anything, and this release counts that against gpu_memory_utilization.
rest: {rest:gib} of the request is left for the KV cache.
v0-parts: Of {requested:gib} requested, weights take {weights:gib}, the activation peak {activation:gib} and memory outside torch {non_torch:gib}.
"""

from oomedic.cause import cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import count, line_of, size
from oomedic.logs.signatures import Event
from oomedic.symptoms.failures import spoken
from oomedic.symptoms.forecast import forecast
from oomedic.symptoms.no_pool import POOLS, no_rest
from oomedic.units import GIB

_PRINTED = (
    *("no_memory_for_cache_blocks", "max_model_len_not_fitted"),
    *("multimodal_ipc_exceeds", "weights_held_outside_exceed"),
)
_SAYS = {
    "multimodal_ipc_exceeds": "OOM402.decoding",
    "weights_held_outside_exceed": "OOM402.outside",
}

_NAME = ("OOM402", "no-memory-for-kv-cache")


@cause(
    "OOM402",
    "no-memory-for-kv-cache",
    reads=(*_PRINTED, "cache_blocks", *POOLS),
    helps=(
        "FIX102",
        "FIX104",
        "FIX110",
        "FIX105",
        "FIX101",
        "FIX106",
        "FIX107",
        "FIX301",
        "FIX201",
        "FIX111",
        "FIX303",
    ),
    useless=("FIX108",),
    worsens=("FIX103",),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise the refusal, V0's count of zero blocks, or a printed rest that is none."""
    event = evidence.first(*_PRINTED) or _zero_blocks(evidence) or no_rest(evidence)
    if event is None:
        return forecast(evidence, _NAME, "OOM402.forecast", "kv_check", facts=("missing",), what="available")
    event = spoken(evidence, event)
    summary = claim(_SAYS.get(event.signature, "OOM402.summary"), line_of(event))
    claims = (summary, *_rest(evidence), *_parts(evidence), *_in_use_before(evidence))
    phase = event.phase if event.signature in _SAYS else "kv_check"
    return Finding(*_NAME, "certain", claims, event.line, phase)


def _zero_blocks(evidence: Evidence) -> Event | None:
    return next((event for event in evidence.all("cache_blocks") if count(event, "gpu_blocks") == 0), None)


def _rest(evidence: Evidence) -> tuple[Claim, ...]:
    event = evidence.first("available_kv_cache", "v0_memory_profile")
    rest = size(event, "kv_cache")
    return () if event is None or rest is None else (claim("OOM402.rest", line_of(event), rest=rest.value),)


def _in_use_before(evidence: Evidence) -> tuple[Claim, ...]:
    """Say what the card held before the engine, which 0.6.3 and 0.6.4 count against the request."""
    event = evidence.first("v0_memory_profile_sums")
    used = size(event, "used_at_start")
    if event is None or used is None or used.value < GIB:
        return ()
    return (claim("OOM402.in-use-before", line_of(event), used=used.value),)


def _parts(evidence: Evidence) -> tuple[Claim, ...]:
    event, total = evidence.first("v0_memory_profile"), evidence.first("v0_memory_requested")
    requested = size(total, "requested")
    figures = {name: size(event, name) for name in ("weights", "activation", "non_torch")}
    known = {name: figure.value for name, figure in figures.items() if figure is not None}
    if event is None or requested is None or len(known) < len(figures):
        return ()
    return (claim("OOM402.v0-parts", line_of(event), requested=requested.value, **known),)
