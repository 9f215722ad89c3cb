"""A Python package is missing, or of another version.

What you see
------------
"Failed to import Ray, please install Ray with `pip install ray`", "ModuleNotFoundError: No module named '…'", "cannot import name …",
"undefined symbol: …".

Why it happens
--------------
Some features need packages that not every image brings: Ray for several nodes, FlashInfer, bitsandbytes, LMCache, plug-ins for
formats that left the engine (GGUF from 0.24, bitsandbytes from 0.28). "undefined symbol" and "cannot import name" mean a package
that was built for another version of PyTorch or of the engine, mostly after a pip install in the image.

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
library: A library of the image does not fit the others: {symbol}.
"""

from oomedic.cause import cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
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
_OF_CUDA = ("libcud", "libnv", "libcublas", "libnccl")


@cause(
    "POD109",
    "package-missing",
    reads=("package_missing", "library_missing", "nvcc_missing", "value_error", "python_error"),
    helps=("FIX407", "FIX307", "FIX501"),
    useless=("FIX101", "FIX102", "FIX103", "FIX104", "FIX105", "FIX107", "FIX108", "FIX301"),
    narrows=("CFG111", "CFG119", "VER102"),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise an import that failed; where another error follows, it was only a warning."""
    event = start_failure(evidence, "package_missing", "library_missing", "nvcc_missing")
    if event is None:
        event = worded(evidence, *_WORDS)
        said = None if event is None else claim("POD109.package", line_of(event), package=says(event))
    else:
        of_cuda = (text(event, "library") or "").startswith(_OF_CUDA)
        advice = event.quote.lower().startswith(_ADVICE) and not raised(evidence, event)
        said = None if of_cuda or advice or outweighed(evidence, event) else _said(event)
    if event is None or said is None:
        return None
    return Finding("POD109", "package-missing", "certain", (said,), event.line, "other")


def _said(event: Event) -> Claim:
    where, package = line_of(event), text(event, "package")
    if event.signature == "library_missing":
        return claim("POD109.library", where, symbol=text(event, "symbol") or text(event, "library"))
    if event.signature == "nvcc_missing":
        return claim("POD109.compiler", where)
    return claim("POD109.package", where, package=package) if package else claim("POD109.unknown", where)
