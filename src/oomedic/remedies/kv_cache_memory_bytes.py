"""Fix the size of the KV cache in bytes.

What it does
------------
The engine takes exactly this much for its KV cache, whatever the profile run finds.

What it costs
-------------
The figure holds for one model on one kind of card: it must be found anew when either changes.

When it does not help
---------------------
Before 0.10.2 the argument does not exist. It does not switch off the check of free memory at the start, which still looks at
gpu_memory_utilization.

Says
----
cost: The KV cache gets {after:gib} instead of {before:gib}; the figure holds for this model and card only.
"""

from collections.abc import Iterator

from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.remedy import Catalogued, Proposal, remedy, set_argument
from oomedic.symptoms.exhaustion import exhaustion, shortage
from oomedic.units import MIB
from oomedic.version import Version

_SINCE = Version(0, 10, 2)
_MARGIN = 256 * MIB
_TRIES = 4


@remedy("FIX109", "kv-cache-memory-bytes", safety="trade-off")
def propose(evidence: Evidence, finding: Finding, _catalogue: Catalogued) -> Iterator[Proposal]:
    """Name the printed pool less what was missing; a size that was given and is too small for one request, enlarged."""
    config, pool = evidence.config, evidence.known.pool
    if config is None or config.rules.version < _SINCE:
        return
    if finding.phase == "kv_check":
        yield from _enough_for_one(evidence)
        return
    if pool is None:
        return
    found = exhaustion(evidence)
    missing = shortage(found.message) if found else None
    after = pool.low - (missing or 0) - _MARGIN
    for _ in range(_TRIES):
        if after <= 0:
            return
        whole = after // MIB * MIB
        changes = set_argument(evidence, "FIX109", kv_cache_memory_bytes=whole)
        yield Proposal(changes, claim("FIX109.cost", after=whole, before=pool.value))
        after -= 2 * _MARGIN


def _enough_for_one(evidence: Evidence) -> Iterator[Proposal]:
    given = evidence.config.integer("kv_cache_memory_bytes") if evidence.config else 0
    needed = evidence.assessment.kv.needed if evidence.assessment and evidence.assessment.kv else None
    if given and needed is not None and needed > given:
        whole = (needed // MIB + 2) * MIB  # a block is kept back
        changes = set_argument(evidence, "FIX109", kv_cache_memory_bytes=whole)
        yield Proposal(changes, claim("FIX109.cost", after=whole, before=given))
