"""A feature does not exist on this platform.

The engine runs on CPU, XPU, TPU, ROCm or an older card, and something was switched on that only exists elsewhere.

What you see
------------
"… is only supported on CUDA devices", "Sleep mode is not supported on current platform", "MLA is not supported on CPU", or a
TypeError in a class of the platform: "TorchSDPAMetadataBuilderV1.__init__() missing 2 required positional arguments".

Why it happens
--------------
New features come to CUDA first. Where a platform lacks one, the engine mostly says so; some releases just call code that the
platform never got, which ends in a TypeError or NotImplementedError.

Example
-------
    $ oomedic diagnose -
    ERROR 11-30 16:01:15 [core.py:586] TypeError: TorchSDPAMetadataBuilderV1.__init__() missing 2 required positional arguments: 'kv_cache_spec' and 'block_table'

    $ oomedic diagnose -
    Value error, Sleep mode is not supported on current platform. [type=value_error, input_value=1]

Not this
--------
    $ oomedic diagnose -
    Value error, GGUF model with architecture qwen3moe is not supported yet.

What helps, in order, and why
-----------------------------
Switch the feature off. A newer release, which may have brought it. Another platform.

What makes it worse
-------------------
Nothing; memory settings play no part.

Since
-----
All releases.

Says
----
class: {name} of this platform lacks what the engine asks for: a feature that is switched on does not exist here in this release.
other: A feature does not exist here: {text}.
platform: The engine runs on the platform {platform}.
uva: The model runner of this release needs host memory that is pinned and that the GPU can address; it is switched off here, as it is on WSL2 unless asked for.
"""

from oomedic.cause import cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import line_of, text
from oomedic.symptoms.failures import failure
from oomedic.symptoms.refusals import says, worded

_WORDS = (
    *("not supported on", "only supported on", "only available on", "not available on", "not implemented on"),
    *("not supported for this platform", "platform", "requires cuda", "only supports cuda", "on cpu", "cuda devices"),
    *(
        "nvidia gpu",
        "on xpu",
        "on tpu",
        "on rocm",
        "not supported with",
        "not supported yet",
        "not yet supported",
        "vllm_use_v1=1",
    ),
    *("does not yet support", "currently not supported", "cannot be used with", "not compatible with"),
)


@cause(
    "CFG119",
    "feature-unsupported-on-platform",
    reads=("backend_incomplete", "uva_missing", "value_error", "python_error"),
    helps=("FIX409", "FIX501", "FIX504", "FIX202"),
    useless=("FIX101", "FIX102", "FIX103", "FIX104", "FIX105", "FIX107", "FIX301"),
    narrows=("CFG104", "CFG111", "VER102"),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise a class that lacks something, or what the engine says about its platform."""
    event = failure(evidence, "uva_missing")
    if event is not None:
        return _finding(evidence, event.line, claim("CFG119.uva", line_of(event)))
    event = failure(evidence, "backend_incomplete")
    if event is not None:
        said = claim("CFG119.class", line_of(event), name=text(event, "class") or text(event, "abstract"))
        return _finding(evidence, event.line, said)
    event = worded(evidence, *_WORDS)
    return (
        None
        if event is None
        else _finding(evidence, event.line, claim("CFG119.other", line_of(event), text=says(event)))
    )


def _finding(evidence: Evidence, line: int, said: Claim) -> Finding:
    platform = text(evidence.first("platform_detected"), "platform")
    known = () if platform is None else (claim("CFG119.platform", platform=platform),)
    return Finding("CFG119", "feature-unsupported-on-platform", "likely", (said, *known), line, "config_validation")
