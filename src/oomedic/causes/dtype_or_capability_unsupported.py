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
unsupported: No kernel of this image can do on this GPU what the model or its format needs.
shared-memory: A kernel wants more of the fast memory inside the cores ({required} bytes) than this GPU has ({limit} bytes). That is not the memory that models are loaded into; another kernel, from another release or backend, needs less.
shared-memory-plain: A kernel wants more of the fast memory inside the cores than this GPU has. That is not the memory that models are loaded into.
fp8: This GPU cannot compute in the fp8 format {format}: e4m3 needs compute capability 8.9.
fp8-cache: An fp8 KV cache does not work here.
flash-only: A feature that is switched on works with FlashAttention only, which needs a card of Ampere or newer.
attention: The GPU, or this version's attention kernel, cannot do what this format needs.
choice: {argument} {value} is not a format that this version knows.
other: The engine refuses the format: {text}.
card: This release of vLLM does not run on this GPU at all: {text}.
"""

from oomedic.cause import cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import line_of, sayable
from oomedic.logs.signatures import Event
from oomedic.symptoms.failures import failure
from oomedic.symptoms.refusals import refused, says, worded

_PRINTED = {
    "bfloat16_unsupported": "CFG104.bfloat16",
    "float16_unsupported": "CFG104.float16",
    "quantization_capability": "CFG104.capability",
    "quantization_dtype": "CFG104.dtype",
    "fp8_kv_cache_unsupported": "CFG104.fp8-cache",
    "fp8_format_unsupported": "CFG104.fp8",
    "kernel_image_missing": "CFG104.kernels",
    "kernel_unsupported": "CFG104.unsupported",
    "kernel_shared_memory": "CFG104.shared-memory",
    "flash_attention_capability": "CFG104.attention",
    "flash_attention_required": "CFG104.flash-only",
    "attention_dtype_mismatch": "CFG104.attention",
}
_CARDS = "GPUs with compute capability below"
_WORDS = ("dtype", "compute capability", "bfloat16", "float16", "fp8", " sm_", "ampere", "hopper", "blackwell")


@cause(
    "CFG104",
    "dtype-or-capability-unsupported",
    reads=(*_PRINTED, "argument_invalid", "value_error", "python_error"),
    helps=("FIX202", "FIX303", "FIX407", "FIX501", "FIX504", "FIX503"),
    useless=("FIX101", "FIX102", "FIX103", "FIX104", "FIX105", "FIX107", "FIX112", "FIX301"),
    worsens=("FIX108",),
    narrows=("CFG110", "CFG111", "VER102"),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise the engine's refusal, or the driver's."""
    event = failure(evidence, *_PRINTED)
    if event is not None:
        phase = evidence.phase_of(event) or event.phase
        said = _said(event)
        if said.message == "CFG104.fp8" and str(evidence.setting("kv_cache_dtype")).startswith("fp8"):
            said = claim("CFG104.fp8-cache", line_of(event))
        return Finding("CFG104", "dtype-or-capability-unsupported", "certain", (said,), event.line, phase)
    refusal = refused(evidence, "dtype", "kv_cache_dtype")
    if refusal is not None:
        said = claim("CFG104.choice", line_of(refusal.event), argument=refusal.argument, value=refusal.value)
        return _refused(said, refusal.event)
    event = worded(evidence, *_WORDS)
    if event is None:
        return None
    message = "CFG104.card" if says(event).startswith(_CARDS) else "CFG104.other"
    return _refused(claim(message, line_of(event), text=says(event)), event)


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
    fields = sayable(event)
    for name in ("minimum", "capability"):  # 75 is 7.5 as vendors write it
        number = fields.get(name)
        fields |= {name: f"{number // 10}.{number % 10}"} if isinstance(number, int) else {}
    message = _PRINTED[event.signature]
    if message == "CFG104.shared-memory" and not {"required", "limit"} <= fields.keys():
        message = "CFG104.shared-memory-plain"
    return Claim(message, fields, line_of(event))
