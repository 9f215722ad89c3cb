"""Loading needs more memory than the weights keep.

The weights would fit once they are loaded, but on the way there the engine holds more: an unquantised copy, a repacked
layer, or memory in pieces too small to use.

What you see
------------
An out-of-memory error before "Model loading took" for a model whose weights are well below the card's memory.

Why it happens
--------------
Quantising a bf16 checkpoint while loading (--quantization fp8) kept the whole bf16 model resident first before about 0.16.
Repacking for Marlin, FlashInfer or CUTLASS needs a second copy of the largest tensor of a layer, for experts up to a
gigabyte. Before 0.21 fragmentation could waste several GiB ("reserved by PyTorch but unallocated"). A model class that
falls back to Transformers does not quantise its experts.

Example
-------
    $ oomedic diagnose --vllm 0.10.2 --gpu L40S - -- vllm serve Qwen/Qwen2.5-14B-Instruct
    INFO [gpu_model_runner.py:2338] Starting to load model Qwen/Qwen2.5-14B-Instruct...
    torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 270.00 MiB. GPU 0 has a total capacity of 44.39 GiB of which 120.00 MiB is free. Including non-PyTorch memory, this process has 44.27 GiB memory in use. Of the allocated memory 40.11 GiB is allocated by PyTorch, and 3.60 GiB is reserved by PyTorch but unallocated.

Not this
--------
    $ oomedic diagnose --vllm 0.10.2 - -- vllm serve Qwen/Qwen2.5-14B-Instruct
    INFO [gpu_model_runner.py:2338] Starting to load model Qwen/Qwen2.5-14B-Instruct...
    torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 270.00 MiB. GPU 0 has a total capacity of 22.06 GiB of which 120.00 MiB is free. Including non-PyTorch memory, this process has 21.94 GiB memory in use. Of the allocated memory 21.20 GiB is allocated by PyTorch, and 300.00 MiB is reserved by PyTorch but unallocated.

What helps, in order, and why
-----------------------------
A checkpoint that is already quantised instead of quantising while loading; expandable segments where much is reserved but
unallocated; a newer engine, which streams layer by layer; more GPUs.

What makes it worse
-------------------
Nothing; gpu_memory_utilization and lengths play no part while weights load.

Since
-----
All releases; online fp8 streams since about 0.16.

Says
----
summary: The weights would fit once loaded, but loading them needs more than there is.
repacking: The weights were loaded and being repacked or quantised, for which each needs a copy: that copy did not fit.
sizes: Loaded, the weights take {weights:gib} per GPU of {total:gib}; {allocated:gib} were allocated when the engine asked for more.
fragments: {unallocated:gib} were reserved by PyTorch but unallocated: memory in pieces too small to use.
"""

from oomedic.cause import cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import line_of
from oomedic.symptoms.exhaustion import EXHAUSTION, Exhaustion, exhaustion, touches_repacking
from oomedic.symptoms.fitting import weights_exceed
from oomedic.units import GIB


@cause(
    "OOM203",
    "weights-load-peak",
    reads=(*EXHAUSTION, "weights_out_of_memory"),
    helps=("FIX112", "FIX201", "FIX301", "FIX501", "FIX303"),
    useless=("FIX101", "FIX102", "FIX103", "FIX104", "FIX105", "FIX106", "FIX107", "FIX108"),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise memory that ran out while loading weights that are known to fit, or that were being repacked."""
    found = exhaustion(evidence)
    if found is None or found.phase != "weights_load":
        return None
    too_large = weights_exceed(evidence)
    if too_large or (too_large is None and not touches_repacking(evidence, found.event)):
        return None
    others = found.message.others if found.message else None
    if others is not None and others.value >= GIB:
        return None
    message = "OOM203.repacking" if too_large is None else "OOM203.summary"
    summary = claim(message, line_of(found.event))
    return Finding(
        "OOM203", "weights-load-peak", "likely", (summary, *_sizes(evidence, found)), found.event.line, "weights_load"
    )


def _sizes(evidence: Evidence, found: Exhaustion) -> tuple[Claim, ...]:
    budget = evidence.assessment.budget if evidence.assessment else None
    weights, total = (budget.item("weights"), budget.total) if budget else (None, None)
    message = found.message
    if message is None or message.allocated is None or weights is None or total is None:
        return ()
    sizes = {"weights": weights.value, "total": total.value, "allocated": message.allocated.value}
    claims = [claim("OOM203.sizes", line_of(found.event), **sizes)]
    if message.unallocated is not None and message.unallocated.value >= GIB:
        claims.append(claim("OOM203.fragments", line_of(found.event), unallocated=message.unallocated.value))
    return tuple(claims)
