"""Lower gpu_memory_utilization.

What it does
------------
The engine takes a smaller share of the card. The KV cache shrinks by the difference, and what is not part of the request has
that much more room: CUDA graphs before 0.20, workspaces, the sampler's warm-up, peaks at run time, and neighbours.

What it costs
-------------
Capacity: fewer tokens fit into the KV cache.

When it does not help
---------------------
When the KV cache is too small it makes things worse. While weights load and in the profile run it is not looked at at all,
although some messages of vLLM advise it.

Says
----
cost: The KV cache shrinks by {less:gib}.
cost-unknown: The KV cache shrinks by the difference.
"""

from collections.abc import Iterator

from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import size
from oomedic.remedy import Catalogued, Proposal, remedy, set_argument
from oomedic.symptoms.exhaustion import exhaustion, shortage
from oomedic.symptoms.free_memory import is_unified
from oomedic.units import GIB, MIB

_STEP = 0.01
_AFTER_THE_POOL = frozenset({"kv_alloc", "graph_capture", "sampler_warmup", "runtime"})
_SHORT_OF_HOST = ("driver_no_memory", "process_killed")
_MARGIN = 256 * MIB
_BLIND_STEP = 0.05
_LEAST = 0.2


@remedy("FIX103", "lower-gpu-memory-utilization", safety="trade-off")
def propose(evidence: Evidence, finding: Finding, _catalogue: Catalogued) -> Iterator[Proposal]:
    """Name the largest share that passes the check, or that leaves what was missing."""
    if evidence.config is None:
        return
    current = evidence.config.utilization
    total = evidence.assessment.budget.total if evidence.assessment else None
    for share in _shares(evidence, finding, current):
        if _LEAST <= share < current:
            less = round((current - share) * (total.value if total else 0))
            cost = claim("FIX103.cost", less=less) if total else claim("FIX103.cost-unknown")
            yield Proposal(set_argument(evidence, "FIX103", gpu_memory_utilization=share), cost)


def _shares(evidence: Evidence, finding: Finding, current: float) -> Iterator[float]:
    event = evidence.first("free_memory_below_request")
    free, total = size(event, "free"), size(event, "total")
    if free is not None and total is not None and finding.code in {"OOM101", "OOM102", "OOM103", "OOM105"}:
        yield from _steps(_down(free.low / total.high))
        return
    if finding.code == "HOST101" and not is_unified(evidence):
        return  # elsewhere the host's memory is its own
    if finding.code == "HOST101" or (finding.code == "OOM105" and evidence.first(*_SHORT_OF_HOST) is not None):
        yield _down(current - _BLIND_STEP)
        return
    found = exhaustion(evidence)
    if found is None or finding.phase not in _AFTER_THE_POOL:
        return
    yield from _steps(_down(current - _share_missing(evidence)))


def _steps(share: float) -> Iterator[float]:
    for _ in range(8):
        yield share
        share = round(share - 2 * _STEP, 2)


def _share_missing(evidence: Evidence) -> float:
    """Return what was missing, with a margin, as a share of the card; a step where the message does not say."""
    found = exhaustion(evidence)
    missing = shortage(found.message) if found else None
    total = found.message.total if found and found.message else None
    if missing is None or total is None:
        return _BLIND_STEP
    return (missing + _MARGIN) / max(total.value, GIB)


def _down(share: float) -> float:
    return round(int(share / _STEP + 1e-9) * _STEP, 2)
