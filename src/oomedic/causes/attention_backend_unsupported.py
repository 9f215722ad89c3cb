"""No attention backend can do what is asked for.

The backend that was chosen, by hand or by a feature that needs it, does not work with this card, head size, cache format or
block size.

What you see
------------
"No valid attention backend found for cuda with AttentionSelectorConfig(…). Reasons: {…}", "Selected backend … is not valid
for this configuration", "Head size 80 is not supported by …".

Why it happens
--------------
Each backend has its own list of cards, head sizes, cache formats and features. VLLM_ATTENTION_BACKEND or
--attention-backend forces one; KV connectors and some models work with one only. Cards before Ampere have no FlashAttention.

Example
-------
    $ oomedic diagnose -
    ValueError: Selected backend AttentionBackendEnum.FLASHMLA is not valid for this configuration. Reason: ['compute capability not supported']

Not this
--------
    $ oomedic diagnose -
    ValueError: The quantization method awq is not supported for the current GPU. Minimum capability: 75. Current capability: 70.

What helps, in order, and why
-----------------------------
Let vLLM choose the backend, or name one that its reasons do not exclude. Drop the feature or cache format that excludes all
of them. A newer card.

What makes it worse
-------------------
An fp8 cache, which fewer backends can read. Memory settings play no part.

Since
-----
All releases; the list of reasons since 0.11.1.

Says
----
chosen: The attention backend {backend} cannot be used here: {reasons}.
none: No attention backend can do what is asked for. {reasons}
unknown: There is no attention backend called {backend} on this platform.
head-size: The attention backend {backend} does not support heads of size {head_size}.
other: The engine refuses the attention backend: {text}.
"""

from oomedic.cause import cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import count, line_of, text
from oomedic.logs.signatures import Event
from oomedic.symptoms.failures import failure
from oomedic.symptoms.refusals import refused, says, worded

_PRINTED = (
    *("attention_backend_invalid", "attention_backend_missing", "attention_backend_unknown"),
    "head_size_unsupported",
)
_WORDS = (
    "attention backend",
    "flashinfer",
    "flashattention",
    "flash attention",
    "flexattention",
    "flashmla",
    "flash_attn",
    "head size",
)


@cause(
    "CFG109",
    "attention-backend-unsupported",
    reads=(*_PRINTED, "argument_invalid", "value_error", "python_error"),
    helps=("FIX503", "FIX202", "FIX303", "FIX501"),
    useless=("FIX101", "FIX102", "FIX103", "FIX104", "FIX105", "FIX107", "FIX301"),
    worsens=("FIX108",),
    narrows=("CFG110", "CFG111", "VER102"),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise the engine's refusal."""
    event = failure(evidence, *_PRINTED)
    if event is not None:
        phase = evidence.phase_of(event) or event.phase
        return Finding("CFG109", "attention-backend-unsupported", "certain", (_said(event),), event.line, phase)
    if evidence.first("kernel_workspace_too_small") is not None:
        return None  # the backend works; a buffer of it is too small
    refusal = refused(evidence, "attention_backend")
    event = refusal.event if refusal else worded(evidence, *_WORDS)
    if event is None:
        return None
    said = (
        claim("CFG109.unknown", line_of(event), backend=refusal.value)
        if refusal
        else claim("CFG109.other", line_of(event), text=says(event))
    )
    return Finding("CFG109", "attention-backend-unsupported", "likely", (said,), event.line, "config_validation")


def _said(event: Event) -> Claim:
    where, backend = line_of(event), text(event, "backend")
    if event.signature == "attention_backend_invalid":
        return claim("CFG109.chosen", where, backend=backend, reasons=text(event, "reasons"))
    if event.signature == "attention_backend_unknown":
        return claim("CFG109.unknown", where, backend=backend or text(event, "platform"))
    if event.signature == "head_size_unsupported":
        return claim("CFG109.head-size", where, backend=backend, head_size=count(event, "head_size"))
    return claim("CFG109.none", where, reasons=text(event, "reasons") or "")
