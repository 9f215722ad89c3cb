"""The engine itself fails: a defect of this release.

An error inside the engine that no setting explains, and that another release does not have.

What you see
------------
"Workspace is locked but allocation from …", "Buffer overflow when allocating memory for …" of FlashInfer, or an
AttributeError, TypeError or bare AssertionError in the engine's own code with ordinary settings; "EngineCore encountered a
fatal error" above any exception that speaks of no memory, device or other rank.

Why it happens
--------------
"Workspace is locked": a kernel wants more workspace for the first real request than it asked for at warm-up (0.13 and newer, some
attention backends). Other internal errors come from combinations of model, card and options that a release was not tested with, or
from packages of other versions than it was built with.

Example
-------
    $ oomedic diagnose -
    AssertionError: Workspace is locked but allocation from 'flashmla.py:123' requires 512.00 MB, current size is 394.00 MB. Workspace growth is not allowed after locking.

Not this
--------
    $ oomedic diagnose -
    torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 270.00 MiB. GPU 0 has a total capacity of 22.06 GiB of which 120.00 MiB is free. Including non-PyTorch memory, this process has 21.94 GiB memory in use. Of the allocated memory 21.20 GiB is allocated by PyTorch, and 300.00 MiB is reserved by PyTorch but unallocated.

What helps, in order, and why
-----------------------------
A newer release; the one that worked before. Another attention backend or another cache format, which avoid the code at fault.

What makes it worse
-------------------
Nothing; a higher gpu_memory_utilization does not help, because no memory is missing.

Since
-----
Depends on the defect.

Says
----
buffer: A FlashInfer kernel needs a workspace of {needed:gib} and was given {size:gib}: a buffer of fixed size (VLLM_FLASHINFER_WORKSPACE_BUFFER_SIZE, in bytes), not a lack of memory. Fewer max_num_seqs need less of it.
buffer-unsized: A FlashInfer kernel needs a larger workspace than it was given: a buffer of fixed size (VLLM_FLASHINFER_WORKSPACE_BUFFER_SIZE, in bytes), not a lack of memory. Fewer max_num_seqs need less of it.
core: A compiled kernel needs more of a TPU core's own memory ({space}) than there is. That is not the device's memory: no share of it helps. A shorter max_model_len or fewer max_num_seqs make the kernel smaller.
workspace: A kernel wanted more workspace ({megabytes} MB) than it was given at warm-up: a defect of this release, not a lack of memory.
internal: The engine failed in its own code: {text}. With ordinary settings that is a defect of this release, or packages that do not fit it; another release decides.
"""

from oomedic.cause import cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import line_of, ratio, size, text
from oomedic.logs.signatures import Event
from oomedic.symptoms.failures import failure, fatal_error
from oomedic.symptoms.refusals import other_refusal, says

_LATE = frozenset({"profile_run", "kv_alloc", "graph_capture", "sampler_warmup", "runtime"})
"""Phases in which no setting is read any more: an error there is the engine's own."""
_OF_TENSORS = (
    *("size of tensor", "invalid for input of size", "shapes cannot be multiplied", "expected scalar type"),
    *("to be on the same device", "failed to apply", "same dtype"),
)
"""Words about tensors that do not go together: no setting is about them."""
_FROM_OUTSIDE = frozenset({"KeyboardInterrupt", "SystemExit", "TimeoutError", "CancelledError"})
_KNOWN = ("workspace_locked", "kernel_workspace_too_small", "core_memory_too_small")
_INTERNAL = frozenset(
    (
        *("AttributeError", "TypeError", "NameError", "UnboundLocalError", "IndexError", "KeyError"),
        *("NotImplementedError", "AssertionError", "ZeroDivisionError"),
    )
)


@cause(
    "VER102",
    "engine-defect",
    reads=(*_KNOWN, "python_error"),
    helps=("FIX501", "FIX502", "FIX503", "FIX504"),
    useless=("FIX102", "FIX103", "FIX108"),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise a known defect; last of all, an error of the engine's own code that nothing else explains."""
    event = failure(evidence, *_KNOWN)
    if event is not None:
        phase = evidence.phase_of(event) or event.phase
        return Finding("VER102", "engine-defect", "likely", (_said(event),), event.line, phase)
    event = other_refusal(evidence) or fatal_error(evidence)
    if event is None:
        return None
    name, phase = (text(event, "exception") or "").rpartition(".")[2], evidence.phase_of(event) or "other"
    internal = name in _INTERNAL or any(words in says(event).lower() for words in _OF_TENSORS)
    if not internal and (phase not in _LATE or name in _FROM_OUTSIDE):
        return None
    said = claim("VER102.internal", line_of(event), text=says(event))
    return Finding("VER102", "engine-defect", "possible", (said,), event.line, phase)


def _said(event: Event) -> Claim:
    where = line_of(event)
    if event.signature == "workspace_locked":
        return claim("VER102.workspace", where, megabytes=ratio(event, "megabytes"))
    if event.signature == "core_memory_too_small":
        return claim("VER102.core", where, space=text(event, "space"))
    needed, given = size(event, "needed"), size(event, "size")
    if needed is None or given is None:
        return claim("VER102.buffer-unsized", where)
    return claim("VER102.buffer", where, needed=needed.value, size=given.value)
