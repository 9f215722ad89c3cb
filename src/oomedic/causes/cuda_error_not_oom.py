"""A CUDA error that is not a lack of memory.

A kernel read or wrote where it must not, an assertion on the device failed, or native code crashed.

What you see
------------
"CUDA error: an illegal memory access was encountered", "device-side assert triggered", "Assertion `index out of bounds` failed",
"CUDA error: unspecified launch failure", "Segmentation fault", exit code 139 or 134.

Why it happens
--------------
A defect of a kernel for this model, card or size; token ids or positions beyond the model's tables (a max_model_len that
VLLM_ALLOW_LONG_MAX_MODEL_LEN let through, a tokenizer of another model); versions of libraries that do not belong together.
CUDA reports errors later than they happen, so that the traceback names an innocent line.

Example
-------
    $ oomedic diagnose -
    /app/torch/_inductor/runtime/compile_tasks.py:45: <module>: block: [337,0,0], thread: [112,0,0] Assertion `index out of bounds: 0 <= tl.broadcast_to(tmp10, [XBLOCK]) < 4096` failed.

Not this
--------
    $ oomedic diagnose -
    RuntimeError: CUDA error: uncorrectable ECC error encountered

What helps, in order, and why
-----------------------------
CUDA_LAUNCH_BLOCKING=1 shows the true line. Another release, or another attention backend. max_model_len within the model's own
where an index was out of bounds. Eager mode, where compiled code is at fault.

What makes it worse
-------------------
VLLM_ALLOW_LONG_MAX_MODEL_LEN=1. Memory settings play no part.

Since
-----
All releases.

Says
----
illegal: A kernel read or wrote memory that is not its own: a defect, not a lack of memory.
assertion: An assertion on the GPU failed: {assertion}.
assertion-unknown: An assertion on the GPU failed, mostly an index beyond a table of the model.
other: CUDA reports: {reason}.
native: Native code crashed (segmentation fault or abort). An Xid line in the node's kernel log, or a start with CUDA_LAUNCH_BLOCKING=1, tells more.
"""

from oomedic.cause import cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Confidence, Finding
from oomedic.logs.fields import count, line_of, text
from oomedic.logs.signatures import Event
from oomedic.symptoms.failures import failure, outweighed

_PRINTED = ("illegal_memory_access", "device_assertion", "cuda_error")
_NATIVE = (134, 139)
_OF_THE_PROGRAM = frozenset({13, 31, 43, 45})
"""Xid numbers that a faulty program causes, not a faulty card (NVIDIA's Xid catalogue)."""


@cause(
    "GPU101",
    "cuda-error-not-oom",
    reads=(*_PRINTED, "segmentation_fault", "exit_signal", "gpu_xid"),
    helps=("FIX501", "FIX503", "FIX101", "FIX107"),
    useless=("FIX102", "FIX103", "FIX104", "FIX108", "FIX201"),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise an error of a kernel, or a crash of native code that nothing else explains."""
    event = failure(evidence, *_PRINTED) or _xid(evidence)
    if event is not None:
        library = (text(event, "reason") or "").startswith(("CUBLAS", "CUDNN"))
        return _finding(evidence, event, "likely" if library else "certain", _said(event))
    event = failure(evidence, "segmentation_fault") or _signal(evidence)
    if event is None or outweighed(evidence, event):
        return None
    return _finding(evidence, event, "possible", claim("GPU101.native", line_of(event)))


def _xid(evidence: Evidence) -> Event | None:
    return next((event for event in evidence.all("gpu_xid") if count(event, "xid") in _OF_THE_PROGRAM), None)


def _signal(evidence: Evidence) -> Event | None:
    return next((event for event in evidence.all("exit_signal") if count(event, "code") in _NATIVE), None)


def _said(event: Event) -> Claim:
    where = line_of(event)
    if event.signature in {"illegal_memory_access", "gpu_xid"}:
        return claim("GPU101.illegal", where)
    if event.signature == "device_assertion":
        assertion = text(event, "assertion")
        return (
            claim("GPU101.assertion", where, assertion=assertion)
            if assertion
            else claim("GPU101.assertion-unknown", where)
        )
    return claim("GPU101.other", where, reason=text(event, "reason") or event.quote)


def _finding(evidence: Evidence, event: Event, confidence: Confidence, said: Claim) -> Finding:
    return Finding("GPU101", "cuda-error-not-oom", confidence, (said,), event.line, evidence.phase_of(event) or "other")
