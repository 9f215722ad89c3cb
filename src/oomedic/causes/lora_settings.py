"""The settings for LoRA adapters do not suit the adapter or the model.

What you see
------------
"LoRA rank 64 is greater than max_lora_rank 16", "… does not support LoRA", "max_cpu_loras (1) must be >= max_loras (2)",
"expected target modules in … but received …".

Why it happens
--------------
The engine sets room aside at the start for adapters of at most max_lora_rank (16 unless it is set). Adapters that are given at
the start (--lora-modules) are loaded before the server answers, so that a wrong one ends it. Not every model class takes
adapters, and an adapter fits only the model that it was trained on.

Example
-------
    $ oomedic diagnose -
    ValueError: LoRA rank 64 is greater than max_lora_rank 16.

Not this
--------
    $ oomedic diagnose -
    ValueError: Loading lora sql failed: No adapter found for /models/lora-not-there

What helps, in order, and why
-----------------------------
--max-lora-rank at least the adapter's rank (8, 16, 32, 64, 128, 256, 320 or 512): it costs memory for every slot. An adapter of
this model.

What makes it worse
-------------------
More slots (--max-loras): each takes memory for the largest rank. GPU memory settings play no part.

Since
-----
All releases.

Says
----
rank: The adapter has rank {rank}; max_lora_rank is {max_lora_rank}.
model: {model} does not take LoRA adapters in this release.
weights: The adapter changes parts of the model that adapters cannot change in this engine: {weights}.
other: The settings for LoRA adapters do not suit: {text}.
"""

from oomedic.cause import cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import count, line_of, text
from oomedic.logs.signatures import Event
from oomedic.symptoms.failures import start_failure
from oomedic.symptoms.refusals import refused, says, worded

_PRINTED = ("lora_rank_too_large", "lora_unsupported", "lora_weights_unsupported")


@cause(
    "CFG118",
    "lora-settings",
    reads=(*_PRINTED, "config_value_refused", "argument_invalid", "value_error", "python_error"),
    helps=("FIX203", "FIX501"),
    useless=("FIX101", "FIX102", "FIX103", "FIX104", "FIX105", "FIX107", "FIX108", "FIX301"),
    narrows=("CFG103", "CFG107", "CFG110", "CFG111", "VER102"),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise an adapter that does not fit."""
    event = start_failure(evidence, *_PRINTED)
    if event is not None:
        phase = "runtime" if event.signature == "lora_rank_too_large" else event.phase
        return Finding("CFG118", "lora-settings", "certain", (_said(event),), event.line, phase)
    refusal = refused(evidence, "max_lora_rank", "max_loras", "max_cpu_loras", "lora_dtype")
    event = refusal.event if refusal else worded(evidence, "lora")
    if event is None:
        return None
    said = claim("CFG118.other", line_of(event), text=refusal.wanted if refusal else says(event))
    return Finding("CFG118", "lora-settings", "likely", (said,), event.line, "config_validation")


def _said(event: Event) -> Claim:
    if event.signature == "lora_weights_unsupported":
        return claim("CFG118.weights", line_of(event), weights=text(event, "tensor") or text(event, "received"))
    if event.signature == "lora_unsupported":
        return claim("CFG118.model", line_of(event), model=text(event, "model"))
    ranks = {"rank": count(event, "rank"), "max_lora_rank": count(event, "max_lora_rank")}
    return claim("CFG118.rank", line_of(event), **ranks)
