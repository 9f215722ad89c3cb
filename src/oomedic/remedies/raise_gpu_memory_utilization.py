"""Raise gpu_memory_utilization.

What it does
------------
The engine may use a larger share of the card; all of the difference goes to the KV cache.

What it costs
-------------
What the engine does not count has less room: the CUDA context, workspaces of attention backends, before 0.20 the CUDA graphs,
and peaks at run time.

When it does not help
---------------------
When memory ran out while loading weights or in the profile run: the setting is not looked at before the cache is sized. When
graphs, the sampler's warm-up or a running server ran out of memory it takes exactly what is missing. Since 0.9.1 it cannot
exceed what is free at the start.

Says
----
cost: {headroom:gib} stay outside the engine's share for what it does not count.
cost-unknown: Less room stays outside the engine's share for what it does not count.
"""

from collections.abc import Iterator

from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.memory.demand import batch_bytes
from oomedic.remedy import Catalogued, Proposal, remedy, set_argument

_USUAL = 0.9
_HIGH = 0.95
_STEP = 0.01


@remedy("FIX102", "raise-gpu-memory-utilization", safety="safe")
def propose(evidence: Evidence, _finding: Finding, _catalogue: Catalogued) -> Iterator[Proposal]:
    """Name the smallest share that leaves enough for one request, up to what the card has free."""
    if evidence.config is not None and evidence.config.integer("kv_cache_memory_bytes"):
        return  # the pool has a size of its own
    if _ignored_on_cpu(evidence):
        return
    current = evidence.config.utilization if evidence.config else None
    for share in _shares(evidence, current):
        if current is None or share > current:
            changes = set_argument(evidence, "FIX102", gpu_memory_utilization=share)
            yield Proposal(changes, _cost(evidence, share))


def _ignored_on_cpu(evidence: Evidence) -> bool:
    """Tell whether the share means nothing: on CPUs before 0.20, and where VLLM_CPU_KVCACHE_SPACE sizes the cache.

    vllm/v1/worker/cpu_worker.py determine_available_memory.
    """
    if evidence.config is None or evidence.config.value("device") != "cpu":
        return False
    return "VLLM_CPU_KVCACHE_SPACE" in evidence.arguments.environment or not batch_bytes(evidence.config)


def _shares(evidence: Evidence, current: float | None) -> Iterator[float]:
    missing = _missing(evidence)
    total = evidence.assessment.budget.total if evidence.assessment else None
    if missing is None or total is None or current is None:
        given = evidence.config is not None and evidence.config.is_given("gpu_memory_utilization")
        if current is None or current < _USUAL:
            yield _USUAL
        elif current < _HIGH and not given:
            yield _HIGH
        return
    if current >= _HIGH and not _is_printed(evidence):
        return
    share = _up(current + missing / total.value)
    reachable = _reachable(evidence)
    while share < reachable:
        yield share
        share = round(share + _STEP, 2)
    yield reachable


def _is_printed(evidence: Evidence) -> bool:
    """Tell whether the log itself says how much is missing: near the whole card nothing else is sure enough."""
    return evidence.known.pool is not None or evidence.first("kv_cache_too_small") is not None


def _missing(evidence: Evidence) -> int | None:
    """Return the bytes that one request lacks."""
    assessment = evidence.assessment
    needed = assessment.kv.needed if assessment and assessment.kv else None
    available = assessment.budget.available if assessment else None
    return None if needed is None or available is None else max(0, needed - available.value)


def _reachable(evidence: Evidence) -> float:
    budget = evidence.assessment.budget if evidence.assessment else None
    if budget is None or budget.total is None or budget.free_at_start is None or _needs_headroom(evidence):
        return _HIGH
    return round(min(0.99, int(budget.free_at_start.low / budget.total.value / _STEP) * _STEP), 2)


def _needs_headroom(evidence: Evidence) -> bool:
    """Tell whether this release captures graphs outside the share, into what it leaves."""
    config = evidence.config
    return config is not None and not config.graphs_budgeted and not config.flag("enforce_eager")


def _up(share: float) -> float:
    return round(-(-share // _STEP) * _STEP, 2)


def _cost(evidence: Evidence, share: float) -> Claim:
    total = evidence.assessment.budget.total if evidence.assessment else None
    if total is None:
        return claim("FIX102.cost-unknown")
    return claim("FIX102.cost", headroom=round(total.value * (1 - share)))
