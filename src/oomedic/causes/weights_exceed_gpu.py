"""The weights are larger than the GPU.

The model itself does not fit: loading ends in an out-of-memory error, whatever gpu_memory_utilization says.

What you see
------------
An out-of-memory error before "Model loading took": nearly all of the card is allocated by PyTorch. Since 0.13 a line
"Failed to load model - not enough GPU memory" follows, whose first advice (a lower gpu_memory_utilization) does nothing.

Why it happens
--------------
Each GPU holds its share of all weights: parameters x bytes per parameter, divided by tensor_parallel_size, plus what is
not divided (norms, latent projections, KV heads beyond the ranks, rotary tables). gpu_memory_utilization is not looked at
while weights load; max_model_len, max_num_seqs and the cache come later.

Example
-------
    $ oomedic diagnose --vllm 0.6.6 - -- vllm serve mistralai/Mistral-7B-v0.1 --dtype half
    torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 224.00 MiB (GPU 0; 10.73 GiB total capacity; 9.85 GiB already allocated; 46.44 MiB free; 9.86 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.

Not this
--------
The same card and a model that fits; here the sampler was warming up:

    $ oomedic diagnose --vllm 0.10.2 - -- vllm serve Qwen/Qwen2.5-0.5B-Instruct
    INFO [gpu_model_runner.py:2653] Model loading took 0.93 GiB and 1.5 seconds
    INFO [gpu_worker.py:298] Available KV cache memory: 7.11 GiB
    RuntimeError: CUDA out of memory occurred when warming up sampler with 256 dummy requests. Please try lowering `max_num_seqs` or `gpu_memory_utilization` when initializing the engine.

What helps, in order, and why
-----------------------------
More GPUs by tensor parallelism, where the pod has them; a quantised checkpoint of the same model; a card with more
memory; weights offloaded to the host, at a high price in speed.

What makes it worse
-------------------
Nothing moves it, and that is the point: neither gpu_memory_utilization (up or down) nor max_model_len, max_num_seqs,
eager mode or an fp8 cache change the size of the weights.

Since
-----
All releases.

Says
----
summary: The weights do not fit on the GPU.
computed: {model} needs {weights:gib} per GPU for its weights; the GPU has {total:gib}.
no-knob: No setting of memory or length helps: they come into play after the weights are loaded.
loading: The engine was still loading weights: {allocated:gib} were allocated when it asked for {tried:gib} more.
"""

from oomedic.cause import cause
from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Confidence, Finding
from oomedic.logs.fields import line_of
from oomedic.symptoms.exhaustion import EXHAUSTION, exhaustion, touches_repacking
from oomedic.symptoms.fitting import weights_claims, weights_exceed
from oomedic.symptoms.forecast import confidence_of


@cause(
    "OOM201",
    "weights-exceed-gpu",
    reads=(*EXHAUSTION, "weights_out_of_memory"),
    helps=("FIX301", "FIX201", "FIX111", "FIX303"),
    useless=("FIX101", "FIX102", "FIX103", "FIX104", "FIX105", "FIX106", "FIX107", "FIX108"),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise memory that ran out while weights were loading; our own arithmetic alone makes it likely."""
    found = exhaustion(evidence)
    too_large = weights_exceed(evidence)
    if found is None:
        return _computed(evidence) if too_large and not evidence.events else None
    loading = found.phase == "weights_load" or evidence.first("weights_out_of_memory") is not None
    if not loading or too_large is False or (too_large is None and touches_repacking(evidence, found.event)):
        return None
    claims = [claim("OOM201.summary", line_of(found.event))]
    message = found.message
    if message and message.allocated is not None and message.tried is not None:
        figures = {"allocated": message.allocated.value, "tried": message.tried.value}
        claims.append(claim("OOM201.loading", line_of(found.event), **figures))
    confidence: Confidence = "certain" if found.proven and too_large else "likely"
    claims += weights_claims(evidence, "OOM201.computed")
    return Finding(
        "OOM201", "weights-exceed-gpu", confidence, (*claims, claim("OOM201.no-knob")), found.event.line, "weights_load"
    )


def _computed(evidence: Evidence) -> Finding:
    claims = (claim("OOM201.summary"), *weights_claims(evidence, "OOM201.computed"), claim("OOM201.no-knob"))
    sure = confidence_of(evidence.assessment) if evidence.assessment else "likely"
    return Finding("OOM201", "weights-exceed-gpu", sure, claims, None, "weights_load")
