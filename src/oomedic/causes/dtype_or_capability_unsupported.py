"""The GPU, or this build, cannot compute in this format.

The data type or quantisation needs a newer card than this one, or the image has no kernels for the card.

What you see
------------
"Bfloat16 is only supported on GPUs with compute capability of at least 8.0", "The quantization method … is not supported for
the current GPU. Minimum capability: 75. Current capability: 70", "no kernel image is available for execution on the device",
"The model type '…' does not support float16", "type fp8e4nv not supported in this architecture".

Why it happens
--------------
Each format has a lowest compute capability: bfloat16 and FlashAttention 8.0, fp8 arithmetic 8.9, AWQ 7.5. T4 is 7.5, V100
7.0. The other way round, an image that is older than the card has no kernels for it; the first kernel fails, wherever that
is. Some models are numerically unstable in float16 and refuse it. None of this is a lack of memory, although it often
appears right after the weights were loaded.

Example
-------
    $ oomedic diagnose -
    ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your Tesla T4 GPU has compute capability 7.5. You can use float16 instead by explicitly setting the`dtype` flag in CLI, for example: --dtype=half.

    $ oomedic diagnose -
    RuntimeError: CUDA error: no kernel image is available for execution on the device

Not this
--------
    $ oomedic diagnose -
    ValueError: Cannot find the config file for awq

What helps, in order, and why
-----------------------------
A format that the card computes in (--dtype half on cards before Ampere, another quantisation, no fp8 cache). A newer card.
An image built for the card, or a newer vLLM.

What makes it worse
-------------------
An fp8 cache, where fp8 is what is missing. Memory settings play no part.

Since
-----
All releases; from 0.9.1 dtype auto falls back to float16 on older cards by itself.

Says
----
bfloat16: {gpu} (compute capability {capability}) has no bfloat16; it needs 8.0.
capability: The quantisation {quantization} needs compute capability {minimum}; this GPU has {capability}.
dtype: The quantisation {quantization} does not work in {dtype}.
float16: Models of type {model_type} are not stable in float16 and refuse it.
kernels: This image has no kernels for this GPU: the card is older than it supports, or newer than the image.
fp8-cache: An fp8 KV cache does not work here.
flash-only: A feature that is switched on works with FlashAttention only, which needs a card of Ampere or newer.
attention: The GPU, or this version's attention kernel, cannot do what this format needs.
choice: {argument} {value} is not a format that this version knows.
other: The engine refuses the format: {text}.
"""

from oomedic.cause import cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.failures import failure
from oomedic.fields import count, line_of, text
from oomedic.finding import Finding
from oomedic.refusals import refused, says, worded
from oomedic.signatures import Event

_PRINTED = (
    *("bfloat16_unsupported", "float16_unsupported", "quantization_capability", "quantization_dtype"),
    *("fp8_kv_cache_unsupported", "kernel_image_missing", "kernel_unsupported"),
    *("flash_attention_capability", "flash_attention_required", "attention_dtype_mismatch"),
)
_WORDS = ("dtype", "compute capability", "bfloat16", "float16", "fp8", " sm_", "ampere", "hopper", "blackwell")


@cause(
    "CFG104",
    "dtype-or-capability-unsupported",
    reads=(*_PRINTED, "argument_invalid", "value_error", "python_error"),
    helps=("FIX202", "FIX303", "FIX407", "FIX501", "FIX504"),
    useless=("FIX101", "FIX102", "FIX103", "FIX104", "FIX105", "FIX107", "FIX112", "FIX301", "FIX503"),
    worsens=("FIX108",),
    narrows=("CFG110", "CFG111", "VER102"),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise the engine's refusal, or the driver's."""
    event = failure(evidence, *_PRINTED)
    if event is not None:
        phase = evidence.phase_of(event) or event.phase
        return Finding("CFG104", "dtype-or-capability-unsupported", "certain", (_said(event),), event.line, phase)
    refusal = refused(evidence, "dtype", "kv_cache_dtype")
    if refusal is not None:
        said = claim("CFG104.choice", line_of(refusal.event), argument=refusal.argument, value=refusal.value)
        return _refused(said, refusal.event)
    event = worded(evidence, *_WORDS)
    return None if event is None else _refused(claim("CFG104.other", line_of(event), text=says(event)), event)


def _refused(said: Claim, event: Event) -> Finding:
    return Finding(
        "CFG104",
        "dtype-or-capability-unsupported",
        "certain" if event.kind == "error" else "likely",
        (said,),
        event.line,
        "config_validation",
    )


def _said(event: Event) -> Claim:
    where, asked = line_of(event), text(event, "quantization")
    if event.signature == "bfloat16_unsupported":
        return claim("CFG104.bfloat16", where, gpu=text(event, "gpu"), capability=text(event, "capability"))
    if event.signature == "float16_unsupported":
        return claim("CFG104.float16", where, model_type=text(event, "model_type"))
    if event.signature == "quantization_capability":
        capabilities = {"minimum": _dotted(event, "minimum"), "capability": _dotted(event, "capability")}
        return claim("CFG104.capability", where, quantization=asked, **capabilities)
    if event.signature == "quantization_dtype":
        return claim("CFG104.dtype", where, quantization=asked, dtype=text(event, "dtype"))
    if event.signature in {"kernel_image_missing", "kernel_unsupported"}:
        return claim("CFG104.kernels", where)
    others = {"fp8_kv_cache_unsupported": "CFG104.fp8-cache", "flash_attention_required": "CFG104.flash-only"}
    return claim(others.get(event.signature, "CFG104.attention"), where)


def _dotted(event: Event, name: str) -> str:
    """Write 75 as vendors do: 7.5."""
    capability = count(event, name) or 0
    return f"{capability // 10}.{capability % 10}"
