"""The limits of a batch contradict each other.

max_num_batched_tokens is smaller than the number of requests at once, than one request, or than one image.

What you see
------------
"max_num_batched_tokens (64) must be greater than or equal to max_num_seqs (256)", "max_num_batched_tokens (1024) is smaller
than max_model_len (4096)", "Chunked MM input disabled but max_tokens_per_mm_item (1500) is larger than
max_num_batched_tokens (512)".

Why it happens
--------------
Every running request takes at least one token of each step. Without chunked prefill a whole prompt must fit into one step;
without chunked multimodal input a whole image must.

Example
-------
    $ oomedic diagnose -
    Value error, max_num_batched_tokens (64) must be greater than or equal to max_num_seqs (256).

Not this
--------
    $ oomedic diagnose -
    ValueError: The model's max seq len (4096) is larger than the maximum number of tokens that can be stored in KV cache (3792). Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.

What helps, in order, and why
-----------------------------
Fewer sequences, or a shorter max_model_len, than the batch; chunked prefill, which lets a prompt take several steps; a larger
max_num_batched_tokens, which costs activation memory.

What makes it worse
-------------------
A smaller max_num_batched_tokens, the usual advice against activation peaks.

Since
-----
All releases.

Says
----
sequences: max_num_batched_tokens {batched} is smaller than max_num_seqs {other}: every running request takes a token of each step.
length: max_num_batched_tokens {batched} is smaller than max_model_len {other}, and without chunked prefill a prompt is not divided.
item: One image, video or sound takes {other} tokens; a batch has {batched}.
"""

from oomedic.cause import cause
from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import count, line_of
from oomedic.symptoms.failures import start_failure

_PRINTED = {
    "batched_tokens_below_sequences": ("sequences", "max_num_seqs"),
    "batched_tokens_below_length": ("length", "max_model_len"),
    "multimodal_item_above_batch": ("item", "item_tokens"),
}


@cause(
    "CFG116",
    "batch-limits-conflict",
    reads=tuple(_PRINTED),
    helps=("FIX114", "FIX104", "FIX101"),
    useless=("FIX102", "FIX103", "FIX107", "FIX108", "FIX301"),
    worsens=("FIX105",),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise the engine's refusal."""
    event = start_failure(evidence, *_PRINTED)
    if event is None:
        return None
    message, other = _PRINTED[event.signature]
    sizes = {"batched": count(event, "max_num_batched_tokens"), "other": count(event, other)}
    said = claim(f"CFG116.{message}", line_of(event), **sizes)
    return Finding("CFG116", "batch-limits-conflict", "certain", (said,), event.line, "config_validation")
