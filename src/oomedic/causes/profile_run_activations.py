"""The profile run needs more memory than there is.

The weights are loaded; then the engine runs the largest batch that it will ever accept, to measure what it costs. That
batch does not fit beside the weights.

What you see
------------
An out-of-memory error after "Model loading took" and before "Available KV cache memory", often with profile_run,
determine_available_memory or determine_num_available_blocks in the traceback.

Why it happens
--------------
The batch has max_num_batched_tokens tokens. V0 without chunked prefill takes max_model_len for it, so that a long default
length fills the card. Mixtures of experts hold each token once per chosen expert. gpu_memory_utilization is not looked
at before the cache is sized.

Example
-------
    $ oomedic diagnose -
    INFO [gpu_model_runner.py:2653] Model loading took 14.99 GiB and 4.5 seconds
    torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.75 GiB. GPU 0 has a total capacity of 22.06 GiB of which 1.12 GiB is free. Including non-PyTorch memory, this process has 20.94 GiB memory in use.

Not this
--------
    $ oomedic diagnose -
    INFO [gpu_model_runner.py:2653] Model loading took 14.99 GiB and 4.5 seconds
    INFO [gpu_worker.py:298] Available KV cache memory: 3.11 GiB
    INFO [kv_cache_utils.py:1087] GPU KV cache size: 25,488 tokens
    Capturing CUDA graphs (mixed prefill-decode, PIECEWISE):  55%|█████▌    | 37/67 [00:08<00:06,  4.52it/s]
    torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 64.00 MiB. GPU 0 has a total capacity of 22.06 GiB of which 41.12 MiB is free. Including non-PyTorch memory, this process has 22.02 GiB memory in use.

What helps, in order, and why
-----------------------------
Fewer batched tokens shrink the batch. On V0, chunked prefill or a shorter max_model_len do the same. More GPUs split the
layers and with them the activations; a quantised checkpoint leaves more beside the weights.

What makes it worse
-------------------
Eager mode: torch.compile frees memory between operations. gpu_memory_utilization changes nothing either way.

Since
-----
All releases.

Says
----
summary: The profile run ran out of memory: the largest batch does not fit beside the weights.
forecast: By our arithmetic the largest batch of the profile run does not fit beside the weights: it lacks {missing:gib}.
batch: The batch has {tokens} tokens (max_num_batched_tokens).
asked: It asked for {tried:gib} when {free:gib} were free.
"""

from oomedic.cause import cause
from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Confidence, Finding
from oomedic.logs.fields import line_of
from oomedic.symptoms.exhaustion import EXHAUSTION, exhaustion, touches_encoder, touches_graphs, touches_sampler
from oomedic.symptoms.forecast import forecast

_NAME = ("OOM301", "profile-run-activations")


@cause(
    "OOM301",
    "profile-run-activations",
    reads=EXHAUSTION,
    helps=("FIX105", "FIX114", "FIX101", "FIX104", "FIX301", "FIX201", "FIX303"),
    useless=("FIX102", "FIX103", "FIX108"),
    worsens=("FIX107",),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise memory that ran out in the profile run, outside encoder and sampler."""
    found = exhaustion(evidence)
    if found is None:
        parts = ("forward", "compilation")
        return forecast(evidence, _NAME, "OOM301.forecast", "profile_run", facts=("missing",), peak=parts)
    if found.phase != "profile_run":
        return None
    if touches_encoder(evidence, found.event) or touches_sampler(evidence, found.event):
        return None
    if touches_graphs(evidence, found.event):
        return None
    claims = [claim("OOM301.summary", line_of(found.event))]
    if evidence.config is not None and evidence.config.integer("max_num_batched_tokens"):
        setting = evidence.config.settings["max_num_batched_tokens"]
        claims.append(claim("OOM301.batch", setting.where, tokens=setting.value))
    message = found.message
    if message and message.tried is not None and message.free is not None:
        claims.append(claim("OOM301.asked", line_of(found.event), tried=message.tried.value, free=message.free.value))
    confidence: Confidence = "certain" if found.proven else "likely"
    return Finding(*_NAME, confidence, tuple(claims), found.event.line, "profile_run")
