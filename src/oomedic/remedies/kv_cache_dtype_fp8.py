"""Keep the KV cache in fp8.

What it does
------------
Each cached key and value takes one byte instead of two: the same cache holds twice the tokens.

What it costs
-------------
Answers can change slightly: keys and values are rounded to 8 bits. Some attention backends cannot do it.

When it does not help
---------------------
When nothing is left for the cache, or when memory runs out before or after it: the cache takes the same share either way. Cards
below compute capability 8.9 have no fp8 arithmetic; checkpoints that declare an fp8 cache have it already.

Says
----
cost: Keys and values are rounded to 8 bits: answers can change slightly.
"""

from collections.abc import Iterator

from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.remedy import Catalogued, Proposal, remedy, set_argument

_FP8_SINCE = (8, 9)


@remedy("FIX108", "kv-cache-dtype-fp8", safety="unsafe")
def propose(evidence: Evidence, _finding: Finding, _catalogue: Catalogued) -> Iterator[Proposal]:
    """Name the fp8 cache where the card computes in fp8 and the cache is still 16-bit."""
    gpu, current = evidence.gpu, evidence.setting("kv_cache_dtype")
    if gpu is None or gpu.capability is None or gpu.capability < _FP8_SINCE or current not in {"auto", None}:
        return
    yield Proposal(set_argument(evidence, "FIX108", kv_cache_dtype="fp8"), claim("FIX108.cost"))
