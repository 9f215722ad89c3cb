"""Let torch's allocator grow its segments.

What it does
------------
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True lets the allocator extend a segment instead of asking for a new one, so that
memory in small pieces can be used again.

What it costs
-------------
Nothing in most cases; it does not go together with sleep mode before 0.21.

When it does not help
---------------------
When little is "reserved by PyTorch but unallocated": then memory is used up, not fragmented.

Says
----
cost: None known, except with sleep mode before 0.21.
"""

from collections.abc import Iterator

from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.remedy import Catalogued, Change, Proposal, remedy
from oomedic.symptoms.exhaustion import exhaustion, shortage
from oomedic.units import MIB

_WORTH = 512 * MIB
_VARIABLE = "PYTORCH_CUDA_ALLOC_CONF"


@remedy("FIX112", "allocator-settings", safety="safe")
def propose(evidence: Evidence, _finding: Finding, _catalogue: Catalogued) -> Iterator[Proposal]:
    """Name expandable segments where more lay fragmented than was missing."""
    found = exhaustion(evidence)
    message = found.message if found else None
    missing = shortage(message)
    if found is None or message is None or message.unallocated is None or missing is None:
        return
    if message.unallocated.value >= max(missing, _WORTH):
        change = Change(f"env.{_VARIABLE}", None, "expandable_segments:True", "FIX112")
        yield Proposal((change,), claim("FIX112.cost"), proof=f"log:{found.event.line}")
