"""The profile run's images, videos or sounds need more memory than there is.

For a model that sees or hears, the profile run feeds the encoder with as many of the largest possible items as a batch may
hold. That batch does not fit beside the weights.

What you see
------------
An out-of-memory error after the weights are loaded, with a vision or audio encoder in the traceback, and a single
allocation that is often larger than the language model's own activations would ever be.

Why it happens
--------------
The number of items follows from max_num_batched_tokens and limit_mm_per_prompt, their size from the largest image that the
model accepts. Models that use few tokens per image get hundreds of images into one batch. On V0 the batch is max_model_len
tokens long.

Example
-------
    $ oomedic diagnose -
    torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 16.00 GiB. GPU 0 has a total capacity of 44.53 GiB of which 187.94 MiB is free. Process 3909982 has 44.34 GiB memory in use. Of the allocated memory 43.67 GiB is allocated by PyTorch, and 335.07 MiB is reserved by PyTorch but unallocated.
    [rank0]:   File "/opt/conda/lib/python3.11/site-packages/vllm/model_executor/models/minicpmv.py", line 624, in forward
    [rank0]:     vlm_embeddings, _ = self.get_embedding(input_ids, image_inputs)

Not this
--------
    $ oomedic diagnose -
    INFO [gpu_model_runner.py:2653] Model loading took 14.99 GiB and 4.5 seconds
    torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.75 GiB. GPU 0 has a total capacity of 22.06 GiB of which 1.12 GiB is free. Including non-PyTorch memory, this process has 20.94 GiB memory in use.

What helps, in order, and why
-----------------------------
Smaller limits per prompt: one image instead of many, no videos, where they are not needed. Fewer sequences and fewer
batched tokens mean fewer dummy items; on V0 a shorter max_model_len does the same.

What makes it worse
-------------------
Eager mode. gpu_memory_utilization changes nothing: it is not looked at before the cache is sized.

Since
-----
0.5, with the first vision models.

Says
----
summary: The profile run of the encoder (images, video or audio) ran out of memory.
forecast: By our arithmetic the profile run of the encoder (images, video or audio) does not fit beside the weights: it lacks {missing:gib}.
asked: It asked for {tried:gib} at once when {free:gib} were free.
unnamed: The size of that single allocation points to an encoder; no traceback names it.
warned: The engine warned that the largest inputs that are allowed come to {tokens} tokens, where a sequence holds {length}: the encoder runs over all of them.
"""

from oomedic.cause import cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Confidence, Finding
from oomedic.logs.fields import count, line_of
from oomedic.symptoms.exhaustion import EXHAUSTION, Exhaustion, exhaustion, touches_encoder, touches_sampler
from oomedic.symptoms.forecast import forecast
from oomedic.units import GIB

_NAME = ("OOM302", "multimodal-profile")


@cause(
    "OOM302",
    "multimodal-profile",
    reads=EXHAUSTION,
    helps=("FIX110", "FIX104", "FIX105", "FIX101", "FIX301", "FIX201", "FIX303"),
    useless=("FIX102", "FIX103", "FIX108", "FIX112"),
    worsens=("FIX107",),
    narrows=("OOM301", "OOM402"),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise an encoder in the traceback, or an allocation that only an encoder of this model makes."""
    found = exhaustion(evidence)
    if found is None:
        return forecast(evidence, _NAME, "OOM302.forecast", "profile_run", facts=("missing",), peak=("encoder",))
    if found.phase not in {"profile_run", None}:
        return None
    named = touches_encoder(evidence, found.event)
    warned = _warned(evidence, found)
    if not named and not warned and not _looks_like_an_encoder(evidence):
        return None
    claims = [claim("OOM302.summary", line_of(found.event))]
    message = found.message
    if message and message.tried is not None and message.free is not None:
        figures = {"tried": message.tried.value, "free": message.free.value}
        claims.append(claim("OOM302.asked", line_of(found.event), **figures))
    if not named:
        claims += warned or [claim("OOM302.unnamed")]
    confidence: Confidence = "certain" if named else "likely"
    return Finding(*_NAME, confidence, tuple(claims), found.event.line, "profile_run")


def _looks_like_an_encoder(evidence: Evidence) -> bool:
    """Tell whether a model with an encoder asked for more at once than its language model's activations come to."""
    found = exhaustion(evidence)
    tried = found.message.tried if found and found.message else None
    if tried is None or evidence.checkpoint is None or not evidence.checkpoint.is_multimodal:
        return False
    return tried.value >= GIB


def _warned(evidence: Evidence, found: Exhaustion) -> list[Claim]:
    """Say what the engine warned of before a profile run whose traceback names neither encoder nor sampler."""
    warning = evidence.first("multimodal_profile_too_short")
    if warning is None or found.phase != "profile_run" or touches_sampler(evidence, found.event):
        return []
    tokens, length = count(warning, "multimodal_tokens"), count(warning, "sequence_length")
    return [claim("OOM302.warned", line_of(warning), tokens=tokens, length=length)]
