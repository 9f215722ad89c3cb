"""The block size of the KV cache is not possible.

--block-size names a size that the platform or the attention backend does not have, or layers of the model need pages that
cannot be brought to one size.

What you see
------------
"argument --block-size: invalid choice: 7", "block size must be a multiple of 16", "Attention block size should be increased
to at least …", "page size of the layer is not divisible by the maximum page size".

Why it happens
--------------
The cache is cut into blocks of 16 tokens unless it is set; attention kernels read blocks of certain sizes only (FlashMLA 64,
Cutlass MLA 128). In hybrid models a block of attention must be as large as a recurrent state, and all layers share one pool.

Example
-------
    $ oomedic diagnose -
    api_server.py: error: argument --block-size: invalid choice: 7 (choose from 1, 8, 16, 32, 64, 128)

Not this
--------
    $ oomedic diagnose -
    vllm serve: error: argument --max-model-len: invalid human_readable_int value: '32kk'

What helps, in order, and why
-----------------------------
Leave --block-size away: the engine then takes what its backend wants. Another cache format or tensor_parallel_size where pages
of different layers do not agree; a newer vLLM, which pads them.

What makes it worse
-------------------
An fp8 cache for some layers only: it halves their pages.

Since
-----
All releases.

Says
----
choice: --block-size {value} does not exist here.
multiple: The block size does not suit the attention backend: {text}.
state: A block of attention must hold at least {block_size} tokens to be as large as a state of this model.
pages: The layers of this model keep pages of different sizes, which this release cannot put into one pool.
hybrid: Layers of this hybrid model cannot share one kind of cache while the hybrid cache manager is off.
other: The engine refuses the block size: {text}.
"""

from oomedic.cause import cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import count, line_of
from oomedic.logs.signatures import Event
from oomedic.symptoms.failures import start_failure
from oomedic.symptoms.refusals import refused, says, worded

_PRINTED = ("block_size_unsupported", "attention_block_too_small", "page_sizes_differ", "hybrid_layers_differ")
_WORDS = ("block size", "block_size")


@cause(
    "CFG117",
    "block-size-unsupported",
    reads=(*_PRINTED, "argument_invalid", "value_error", "python_error"),
    helps=("FIX202", "FIX304", "FIX501"),
    useless=("FIX101", "FIX102", "FIX103", "FIX104", "FIX105", "FIX107"),
    worsens=("FIX108",),
    narrows=("CFG110", "CFG111", "VER102"),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise the engine's refusal."""
    event = start_failure(evidence, *_PRINTED)
    if event is not None:
        return Finding("CFG117", "block-size-unsupported", "certain", (_said(event),), event.line, event.phase)
    refusal = refused(evidence, "block_size")
    if refusal is not None:
        said = claim("CFG117.choice", line_of(refusal.event), value=refusal.value)
        return Finding("CFG117", "block-size-unsupported", "certain", (said,), refusal.event.line, "config_validation")
    event = worded(evidence, *_WORDS)
    if event is None:
        return None
    said = claim("CFG117.other", line_of(event), text=says(event))
    return Finding("CFG117", "block-size-unsupported", "likely", (said,), event.line, "config_validation")


def _said(event: Event) -> Claim:
    where = line_of(event)
    if event.signature == "attention_block_too_small":
        return claim("CFG117.state", where, block_size=count(event, "block_size"))
    if event.signature == "page_sizes_differ":
        return claim("CFG117.pages", where)
    if event.signature == "hybrid_layers_differ":
        return claim("CFG117.hybrid", where)
    return claim("CFG117.multiple", where, text=event.quote)
