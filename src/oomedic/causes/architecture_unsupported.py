"""This vLLM has no class for the model.

The architecture in config.json, or in a GGUF file, is newer than this release or was never supported.

What you see
------------
"Model architectures ['…'] are not supported for now", "Transformers does not recognize this architecture", "GGUF model with
architecture qwen3moe is not supported yet", "Pipeline parallelism is not supported for this model"; or only a warning that
the model falls back to the Transformers implementation, and an out-of-memory error while it loads.

Why it happens
--------------
Each architecture has a class in vLLM, and a configuration class in the installed Transformers. Where only the first is
missing, the model may run through Transformers: without fused or quantised experts, so that it takes far more memory.

Example
-------
    $ oomedic diagnose -
    Value error, Model architectures ['FooBarForCausalLM'] are not supported for now. Supported architectures: dict_keys(['ApertusForCausalLM'])

    $ oomedic diagnose -
    ValueError: GGUF model with architecture qwen3moe is not supported yet.

Not this
--------
    $ oomedic diagnose -
    OSError: some-org/missing-model is not a local folder and is not a valid model identifier listed on 'https://huggingface.co/models'

What helps, in order, and why
-----------------------------
A newer vLLM image, which brings a newer Transformers with it. The original checkpoint instead of a GGUF file. Another model.

What makes it worse
-------------------
Nothing; memory settings play no part.

Since
-----
All releases.

Says
----
class: This vLLM has no class for the architecture {architecture}.
class-unknown: This vLLM has no class for this model.
transformers: The installed Transformers does not know the model type {model_type}.
gguf: GGUF files of the architecture {architecture} cannot be read by this release.
processor: The installed Transformers knows no {processor} for {model}, or the file that names it (preprocessor_config.json) is not in the folder.
pipeline: This model cannot be split into pipeline stages in this release.
fallback: This vLLM has no class of its own for the model and loads it through Transformers, which does not quantise or fuse experts: memory ran out on the way. A release with a class for the model decides.
uninspected: This vLLM has a class for the architecture {architecture}, but could not import it: packages of the image do not fit each other. The traceback above that line tells which.
error: The import failed with: {text}.
other: The engine does not support this model: {text}.
"""

from oomedic.cause import cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import line_of, text
from oomedic.logs.signatures import Event
from oomedic.symptoms.exhaustion import exhaustion
from oomedic.symptoms.failures import missing_key, start_failure
from oomedic.symptoms.refusals import says, worded

_PRINTED = (
    *("architecture_unsupported", "model_type_unknown"),
    *("gguf_architecture_unsupported", "pipeline_parallel_unsupported", "processor_unknown"),
)
_FALLBACK = "transformers_backend"
_UNINSPECTED = "architecture_uninspected"
_TABLE = "config_class_frame"
_WORDS = ("gguf", "architecture", "does not support this model", "is not supported for this model")


@cause(
    "CFG107",
    "architecture-unsupported",
    reads=(*_PRINTED, _FALLBACK, _UNINSPECTED, _TABLE, "value_error", "python_error"),
    helps=("FIX501", "FIX202", "FIX204", "FIX407"),
    useless=("FIX101", "FIX102", "FIX103", "FIX104", "FIX105", "FIX107", "FIX108", "FIX301", "FIX201"),
    narrows=("CFG111", "VER102"),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise a model without a class, or a fallback that ran out of memory."""
    event = start_failure(evidence, *_PRINTED)
    known = start_failure(evidence, _UNINSPECTED) if event is None else _known(evidence, event)
    if known is not None:
        return _uninspected(evidence, known)
    if event is not None:
        return Finding("CFG107", "architecture-unsupported", "certain", (_said(event),), event.line, event.phase)
    event = worded(evidence, *_WORDS)
    if event is not None:
        said = claim("CFG107.other", line_of(event), text=says(event))
        return Finding("CFG107", "architecture-unsupported", "likely", (said,), event.line, "config_validation")
    event = missing_key(evidence, _TABLE)
    if event is not None:
        said = claim("CFG107.transformers", line_of(event), model_type=(text(event, "message") or "").strip("'\""))
        return Finding("CFG107", "architecture-unsupported", "likely", (said,), event.line, "config_validation")
    return _fallback(evidence)


def _known(evidence: Evidence, event: Event) -> Event | None:
    """Return the event where this release has a class for the architecture after all, and could not import it."""
    if event.signature != "architecture_unsupported":
        return None
    if event.fields.get("listed") or any(other.line < event.line for other in evidence.all("library_missing")):
        return event
    return start_failure(evidence, _UNINSPECTED)


def _uninspected(evidence: Evidence, event: Event) -> Finding | None:
    """Say that the class could not be imported, where no other error tells why."""
    if any(other.kind == "error" and other.signature not in _PRINTED for other in evidence.events):
        return None
    where, architecture = line_of(event), text(event, "architecture") or text(event, "architectures")
    said = claim("CFG107.uninspected", where, architecture=architecture)
    errors = (each for each in evidence.all("python_error") if text(each, "message"))
    error = next((each for each in errors if "to be inspected" not in each.quote), None)
    because = () if error is None else (claim("CFG107.error", line_of(error), text=says(error)),)
    return Finding("CFG107", "architecture-unsupported", "possible", (said, *because), event.line, "config_validation")


def _fallback(evidence: Evidence) -> Finding | None:
    event, found = evidence.first(_FALLBACK), exhaustion(evidence)
    if event is None or found is None or found.event.line < event.line or evidence.first("model_loaded"):
        return None
    said = claim("CFG107.fallback", line_of(event))
    return Finding("CFG107", "architecture-unsupported", "likely", (said,), found.event.line, "weights_load")


def _said(event: Event) -> Claim:
    where, architecture = line_of(event), text(event, "architecture")
    if event.signature == "model_type_unknown":
        return claim("CFG107.transformers", where, model_type=text(event, "model_type"))
    if event.signature == "processor_unknown":
        return claim("CFG107.processor", where, processor=text(event, "processor"), model=text(event, "model"))
    if event.signature == "gguf_architecture_unsupported":
        return claim("CFG107.gguf", where, architecture=architecture)
    if event.signature == "pipeline_parallel_unsupported":
        return claim("CFG107.pipeline", where)
    if architecture:
        return claim("CFG107.class", where, architecture=architecture)
    return claim("CFG107.class-unknown", where)
