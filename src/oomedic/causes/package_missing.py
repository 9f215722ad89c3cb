"""A Python package is missing, or of another version.

What you see
------------
"Failed to import Ray, please install Ray with `pip install ray`", "ModuleNotFoundError: No module named '…'", "cannot import name …",
"undefined symbol: …", "Failed to find C compiler", "Command '['/usr/bin/gcc', …]' returned non-zero exit status 1".

Why it happens
--------------
Some features need packages that not every image brings: Ray for several nodes, FlashInfer, bitsandbytes, LMCache, plug-ins for
formats that left the engine (GGUF from 0.24, bitsandbytes from 0.28). "undefined symbol" and "cannot import name" mean a package
that was built for another version of PyTorch or of the engine, mostly after a pip install in the image. Triton, torch.compile and
FlashInfer compile kernels when the engine starts: slim images lack the compiler, Python's headers or ninja.

Example
-------
    $ oomedic diagnose -
    Value error, Failed to import Ray: No module named 'ray'.Please install Ray with `pip install ray`. [type=value_error, input_value=ArgsKwargs(()), input_type=ArgsKwargs]

Not this
--------
    $ oomedic diagnose -
    ImportError: libcuda.so.1: cannot open shared object file: No such file or directory

What helps, in order, and why
-----------------------------
An image that has the package in the version that this engine wants; or no feature that needs it: on one node
--distributed-executor-backend mp instead of ray.

What makes it worse
-------------------
Nothing; memory settings play no part.

Since
-----
All releases.

Says
----
package: The package {package} is not installed, or of another version than the engine wants.
unknown: A package is not installed, or of another version than the engine wants.
compiler: A kernel is compiled at the start, and the image has no CUDA compiler (nvcc).
c-compiler: A kernel is compiled at the start, and the image has no C compiler.
build: A kernel is compiled at the start, and the compiler failed: the image lacks headers or libraries that it needs, mostly those of Python or the driver's libcuda.
build-lacks: A kernel is compiled at the start, and the image lacks {lacking}, which that needs.
tokenizer: The tokenizer file is of a newer format than the tokenizers package of this image reads, or it is damaged.
store: The model streamer cannot read from this kind of store ({store}): the library for it is not in the image. It comes with an extra of the package (runai-model-streamer[s3], [gcs], [azure]).
library: A library of the image does not fit the others: {symbol}.
"""

from oomedic.cause import cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Confidence, Finding
from oomedic.logs.fields import line_of, text
from oomedic.logs.signatures import Event
from oomedic.symptoms.failures import outweighed, raised, start_failure
from oomedic.symptoms.refusals import says, worded

_WORDS = (
    "is not installed",
    "please install",
    "not found. please follow",
    "pip install",
    "module not found",
    "not available. requires",
)
_ADVICE = ("please install", "lease install")
_STORE = "store_unsupported"
_PRINTED = ("package_missing", "library_missing", "nvcc_missing", "compiler_missing", "tokenizer_unreadable", _STORE)
_PLAINLY = {"tokenizer_unreadable": "POD109.tokenizer", "nvcc_missing": "POD109.compiler"}
_OF_CUDA = ("libcud", "libnv", "libcublas", "libnccl")


@cause(
    "POD109",
    "package-missing",
    reads=(*_PRINTED, "value_error", "python_error"),
    helps=("FIX407", "FIX307", "FIX501"),
    useless=("FIX101", "FIX102", "FIX103", "FIX104", "FIX105", "FIX107", "FIX108", "FIX301"),
    narrows=("CFG111", "CFG119", "VER102"),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise an import that failed; where another error follows, it was only a warning."""
    event = start_failure(evidence, *_PRINTED)
    if event is None:
        event = worded(evidence, *_WORDS)
        said = None if event is None else claim("POD109.package", line_of(event), package=says(event))
    else:
        of_cuda = (text(event, "library") or "").startswith(_OF_CUDA)
        advice = event.quote.lower().startswith(_ADVICE) and not raised(evidence, event)
        said = None if of_cuda or advice or outweighed(evidence, event, _followed(evidence)) else _said(event)
    if event is None or said is None:
        return None
    sure: Confidence = "likely" if said.message in {"POD109.build", "POD109.tokenizer"} else "certain"
    return Finding("POD109", "package-missing", sure, (said,), event.line, "other")


def _followed(evidence: Evidence) -> tuple[str, ...]:
    """Return what only follows from an import that failed: a model's class that is there cannot be loaded then."""
    listed = any(event.fields.get("listed") for event in evidence.all("architecture_unsupported"))
    broken = listed or evidence.first("architecture_uninspected", "library_missing") is not None
    return ("architecture_unsupported",) if broken else ()


def _said(event: Event) -> Claim:
    where, package = (
        line_of(event),
        text(event, "package") or (text(event, "named") or text(event, "library") or "").strip("'`"),
    )
    if event.signature == "library_missing":
        return claim("POD109.library", where, symbol=text(event, "symbol") or text(event, "library"))
    if event.signature == _STORE:
        return claim("POD109.store", where, store=text(event, "store"))
    if event.signature in _PLAINLY:
        return claim(_PLAINLY[event.signature], where)
    if event.signature == "compiler_missing":
        lacking = text(event, "header") or text(event, "program") or text(event, "library")
        if lacking:
            return claim("POD109.build-lacks", where, lacking=lacking)
        return claim("POD109.c-compiler" if event.fields.get("absent") else "POD109.build", where)
    return claim("POD109.package", where, package=package) if package else claim("POD109.unknown", where)
