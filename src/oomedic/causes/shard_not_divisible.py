"""A part of the model cannot be cut into this many pieces.

Experts, or blocks and groups of quantised weights, must be whole on every rank.

What you see
------------
"n_physical_experts=256 must be divisible by ep_size=3", "The output_size of gate's and up's weight = 192 is not divisible by
weight quantization block_n = 128", "The input size is not aligned with the quantized weight shape. This can be caused by
too large tensor parallel size", "tp_size=4 must be divisible by dcp_size=3".

Why it happens
--------------
Tensor parallelism cuts each matrix into as many slices as there are ranks. A slice of a quantised matrix must hold whole
blocks (128 for fp8) or groups (mostly 128): an expert of 1536 columns has 192 on each of 8 ranks, which is one block and a
half. Expert parallelism keeps experts whole instead.

Example
-------
    $ oomedic diagnose -
    ValueError: The output_size of gate's and up's weight = 192 is not divisible by weight quantization block_n = 128.

Not this
--------
    $ oomedic diagnose -
    ValueError: Total number of attention heads (28) must be divisible by tensor parallel size (8)

What helps, in order, and why
-----------------------------
A smaller tensor_parallel_size whose slices are whole, with pipeline parallelism for the remaining GPUs; expert parallelism
for models with experts; another checkpoint of the model.

What makes it worse
-------------------
More ranks: the slices get smaller. Memory settings play no part.

Since
-----
All releases.

Says
----
experts: {experts} experts cannot be shared out over {ranks} ranks.
block: A slice of {size} does not hold whole blocks of {divisor} of the quantised weights.
group: A slice of the quantised weights does not hold whole groups.
context: tensor_parallel_size {tensor_parallel_size} is no multiple of decode_context_parallel_size {context}.
other: A part of the model cannot be cut this way: {text}.
"""

from oomedic.cause import cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import count, line_of, text
from oomedic.logs.signatures import Event
from oomedic.symptoms.failures import start_failure
from oomedic.symptoms.refusals import says, worded

_PRINTED = (
    *("experts_not_divisible", "fp8_block_shape", "quantized_shape"),
    *("marlin_shape", "context_parallel_not_divisible"),
)
_WORDS = ("divisible", "must be a multiple of", "not a multiple of", "evenly divide", "must divide")


@cause(
    "CFG108",
    "shard-not-divisible",
    reads=(*_PRINTED, "value_error", "python_error"),
    helps=("FIX304", "FIX302", "FIX202"),
    useless=("FIX101", "FIX102", "FIX103", "FIX104", "FIX105", "FIX107", "FIX108", "FIX201"),
    worsens=("FIX301",),
    narrows=("CFG103", "CFG111", "VER102"),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise a slice that is not whole."""
    events = (event for event in evidence.all(*_PRINTED) if text(event, "tile") in {None, "group_size"})
    first = next(events, None)
    if first is not None and start_failure(evidence, first.signature) is not None:
        return Finding("CFG108", "shard-not-divisible", "certain", (_said(first),), first.line, first.phase)
    event = worded(evidence, *_WORDS)
    if event is None or "block_size" in says(event).lower():
        return None
    said = claim("CFG108.other", line_of(event), text=says(event))
    return Finding("CFG108", "shard-not-divisible", "likely", (said,), event.line, "config_validation")


def _said(event: Event) -> Claim:
    where = line_of(event)
    if event.signature == "experts_not_divisible":
        return claim("CFG108.experts", where, experts=count(event, "experts"), ranks=count(event, "ep_size"))
    if event.signature == "context_parallel_not_divisible":
        sizes = {"tensor_parallel_size": count(event, "tensor_parallel_size"), "context": count(event, "dcp_size")}
        return claim("CFG108.context", where, **sizes)
    size, divisor = count(event, "size"), count(event, "divisor")
    return claim("CFG108.block", where, size=size, divisor=divisor) if size else claim("CFG108.group", where)
