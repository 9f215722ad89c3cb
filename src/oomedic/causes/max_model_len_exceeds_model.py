"""max_model_len is longer than the model allows.

The engine was asked for longer requests than the model's own config knows.

What you see
------------
"User-specified max_model_len (a) is greater than the derived max_model_len (…=b …)".

Why it happens
--------------
The longest request follows from the config: max_position_embeddings and its relatives, times the factor of rope scaling. From
0.30 on a YaRN factor no longer counts: max_position_embeddings is taken as already scaled, so that a setting that worked
before is refused.

Example
-------
    $ oomedic diagnose -
    Value error, User-specified max_model_len (131072) is greater than the derived max_model_len (max_position_embeddings=32768.0 or model_max_length=None in model's config.json). To allow overriding this maximum, set the env var VLLM_ALLOW_LONG_MAX_MODEL_LEN=1.

Not this
--------
    $ oomedic diagnose -
    ValueError: The model's max seq len (4096) is larger than the maximum number of tokens that can be stored in KV cache (3792). Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.

What helps, in order, and why
-----------------------------
A max_model_len within the model's own. A longer one needs rope scaling that the model was trained for.

What makes it worse
-------------------
VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 silences the check; positions beyond the model's then give nonsense or a CUDA error.

Since
-----
All releases.

Says
----
summary: max_model_len {max_model_len} is longer than the {derived} tokens that the model's config allows.
summary-unknown: max_model_len {max_model_len} is longer than the model's config allows.
"""

from oomedic.cause import cause
from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import count, line_of, ratio


@cause(
    "CFG105",
    "max-model-len-exceeds-model",
    reads=("max_model_len_above_model",),
    helps=("FIX101",),
    useless=("FIX102", "FIX103", "FIX104", "FIX105", "FIX107", "FIX108", "FIX301"),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise the engine's refusal."""
    event = evidence.first("max_model_len_above_model")
    if event is None:
        return None
    length, derived = count(event, "max_model_len"), ratio(event, "derived")
    summary = (
        claim("CFG105.summary-unknown", line_of(event), max_model_len=length)
        if derived is None
        else claim("CFG105.summary", line_of(event), max_model_len=length, derived=round(derived))
    )
    return Finding("CFG105", "max-model-len-exceeds-model", "certain", (summary,), event.line, "config_validation")
