"""Not enough state blocks for max_num_seqs.

A model with Mamba or linear-attention layers keeps one state block per running request. The cache holds fewer of them than
max_num_seqs.

What you see
------------
"max_num_seqs (X) exceeds available Mamba cache blocks (Y)".

Why it happens
--------------
A state block is as large as a page of thousands of tokens, however short the request is. The pool holds Y of them; the
engine captures graphs for X requests at once.

Example
-------
    $ oomedic diagnose -
    ValueError: max_num_seqs (256) exceeds available Mamba cache blocks (136). Each decode sequence requires one Mamba cache block, so CUDA graph capture cannot proceed.

Not this
--------
    $ oomedic diagnose -
    ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.

What helps, in order, and why
-----------------------------
max_num_seqs at or below the number of blocks. A higher gpu_memory_utilization makes more blocks.

What makes it worse
-------------------
A lower gpu_memory_utilization. A shorter max_model_len or an fp8 cache do not change the size of a state.

Since
-----
0.20; 0.18 and 0.19 capture fewer graphs instead.

Says
----
forecast: By our arithmetic the cache has {blocks} blocks, and each of {max_num_seqs} running requests needs one for its state.
summary: Each running request needs a state block: max_num_seqs is {max_num_seqs}, the cache has {blocks} blocks.
"""

from oomedic.cause import cause
from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import count, line_of
from oomedic.symptoms.forecast import forecast

_NAME = ("OOM403", "state-cache-too-small")


@cause(
    "OOM403",
    "state-cache-too-small",
    reads=("mamba_blocks_too_few",),
    helps=("FIX104", "FIX102", "FIX107", "FIX301", "FIX201"),
    useless=("FIX101", "FIX108"),
    worsens=("FIX103",),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise the engine's own refusal."""
    event = evidence.first("mamba_blocks_too_few")
    if event is None:
        return forecast(
            evidence, _NAME, "OOM403.forecast", "graph_capture", facts=("blocks", "max_num_seqs"), what="state blocks"
        )
    sizes = {"max_num_seqs": count(event, "max_num_seqs"), "blocks": count(event, "blocks")}
    summary = claim("OOM403.summary", line_of(event), **sizes)
    return Finding(*_NAME, "certain", (summary,), event.line, "graph_capture")
