"""The model cannot be split over this many GPUs.

Attention heads, KV heads or the vocabulary do not divide by tensor_parallel_size.

What you see
------------
"Total number of attention heads (h) must be divisible by tensor parallel size (t)", or a bare AssertionError on
total_num_kv_heads or "A is not divisible by B".

Why it happens
--------------
Each rank takes the same number of query heads. KV heads must divide by the ranks, or the ranks by the KV heads, which are then
replicated.

Example
-------
    $ oomedic diagnose -
    ValueError: Total number of attention heads (28) must be divisible by tensor parallel size (8)

Not this
--------
    $ oomedic diagnose -
    ValueError: World size (8) is larger than the number of available GPUs (4) in this node. If this is intentional and you are using:

What helps, in order, and why
-----------------------------
A tensor_parallel_size that divides the heads, and pipeline parallelism for the remaining GPUs.

What makes it worse
-------------------
Nothing; memory settings play no part.

Since
-----
All releases.

Says
----
summary: {heads} attention heads cannot be split over {tensor_parallel_size} GPUs.
assertion: {size} does not divide by {divisor}: the model cannot be split this way.
kv-heads: The number of KV heads neither divides by tensor_parallel_size nor divides it.
computed: {what} {size} does not divide by tensor_parallel_size {tensor_parallel_size}.
"""

from oomedic.cause import cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import count, line_of
from oomedic.logs.signatures import Event


@cause(
    "CFG102",
    "heads-not-divisible",
    reads=("heads_not_divisible", "kv_heads_not_divisible", "size_not_divisible"),
    helps=("FIX304", "FIX302"),
    useless=("FIX101", "FIX102", "FIX103", "FIX104", "FIX105", "FIX107", "FIX108"),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise the engine's refusal, or our own arithmetic's where nothing has run yet."""
    event = evidence.first("heads_not_divisible", "kv_heads_not_divisible", "size_not_divisible")
    if event is not None:
        return Finding("CFG102", "heads-not-divisible", "certain", (_printed(event),), event.line, "config_validation")
    refused = evidence.refused
    if evidence.events or refused is None or refused.slug != "not-divisible":
        return None
    return Finding(
        "CFG102",
        "heads-not-divisible",
        "likely",
        (Claim("CFG102.computed", refused.parameters),),
        None,
        "config_validation",
    )


def _printed(event: Event) -> Claim:
    where = line_of(event)
    if event.signature == "heads_not_divisible":
        sizes = {"heads": count(event, "heads"), "tensor_parallel_size": count(event, "tensor_parallel_size")}
        return claim("CFG102.summary", where, **sizes)
    if event.signature == "size_not_divisible":
        return claim("CFG102.assertion", where, size=count(event, "size"), divisor=count(event, "divisor"))
    return claim("CFG102.kv-heads", where)
