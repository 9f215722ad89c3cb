"""From model, configuration and card to a budget, a cache plan and the answer: does it start, or where does it die?

Figures that a log printed replace computed ones, and stay true when another knob turns: what the formulas got wrong
for the printed run is carried over to the changed one.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple

from oomedic.engine.config import EngineConfig
from oomedic.figure import Figure, between, exactly
from oomedic.gpu import Gpu
from oomedic.memory.budget import (
    Budget,
    Device,
    ItemName,
    available_memory,
    budget_of,
    parts_of,
    requested_memory,
    with_others,
)
from oomedic.memory.checks import Certainty, certainty, checks_of, first_failure, settled, tightest
from oomedic.memory.demand import Demand, batch_bytes, counted, demands, plan_rules, request_of
from oomedic.memory.encoder_items import takes_text_only
from oomedic.memory.known import NOTHING_KNOWN, Check, Known
from oomedic.memory.kv_plan import KvPlan, Layout, PlanRules, needed_bytes, plan
from oomedic.memory.printed_cache import plan_of, sharpened
from oomedic.models.checkpoint import Checkpoint
from oomedic.phase_order import ORDER
from oomedic.units import Bytes

Outcome = Literal["starts", "crashes", "unknown"]
_SHARE: Final = "gpu_memory_utilization"
_LIMITS: Final = "limit_mm_per_prompt"
_ENCODER: Final = "encoder"
_LEAST_KNOWN_FIRST: Final[tuple[ItemName, ...]] = ("activation", "non_torch", "weights")
_PARTS: Final[tuple[ItemName, ...]] = ("weights", "non_torch", "activation", "cuda_graphs")


class Assessment(NamedTuple):
    """The worst rank of one engine.

    ``checks`` are the steps of its start; ``failed`` is the first without room, ``tightest`` the one with least.
    """

    config: EngineConfig
    budget: Budget
    kv: KvPlan | None
    outcome: Outcome
    certainty: Certainty
    failed: Check | None
    tightest: Check | None
    peak: str | None
    missing: tuple[str, ...]
    checks: tuple[Check, ...] = ()

    @property
    def phase(self) -> str | None:
        """Return the phase in which the engine dies, None when it starts or nothing is known."""
        return self.failed.phase if self.failed else None


def assess(
    checkpoint: Checkpoint | None, config: EngineConfig, gpu: Gpu | None, known: Known = NOTHING_KNOWN
) -> Assessment:
    """Assess one configuration; ``known`` as ``calibrate`` returned it, when a run printed figures.

    Raises:
        UsageError: ``not-divisible`` when the model cannot be split over the ranks.
        InputError: ``config-lacks`` when the model's config misses a key that the arithmetic needs.
    """
    worst = _tightest_stage(demands(checkpoint, config, gpu), config, gpu, known)
    without = known.asked == _ENCODER and checkpoint is not None and takes_text_only(checkpoint, config)
    if known.died is None or without:
        return worst  # no run died, or it did of a part that is not there any more
    judged = _judged(worst, settled(worst.checks, known), died=True)
    if known.asked == _ENCODER and _LIMITS in known.changed(config):
        return judged._replace(outcome="unknown", failed=None)  # nothing tells how large the largest item is
    return judged


def assess_demands(asked: Sequence[Demand], config: EngineConfig, gpu: Gpu | None) -> Assessment:
    """Assess what the pipeline stages ask for, where nothing printed is known: for a search over many cards.

    ``asked`` as ``demands`` returned it for a configuration and card that differ in nothing it depends on.
    """
    return _tightest_stage(asked, config, gpu, NOTHING_KNOWN)


def calibrate(checkpoint: Checkpoint | None, gpu: Gpu | None, known: Known) -> Known:
    """Work out once by how much the formulas missed what the baseline run printed, and where it died.

    Raises:
        UsageError, InputError: as ``assess``.
    """
    baseline = known.baseline
    if baseline is None:
        return known
    asked = demands(checkpoint, baseline, gpu)
    if len(asked) == 1:
        known = known._replace(pool=_sharpened(known, asked[0].cut, baseline))
    known = known._replace(corrections=_corrections(asked[0], known, _device(baseline, gpu, known)))
    return known._replace(before=_tightest_stage(asked, baseline, gpu, known).checks)


def widened(assessments: Sequence[Assessment]) -> Assessment:
    """Return the least favourable of several, its figures with bands that cover all of them.

    For a release that is not known: what is shown is what can be relied on whichever it is.
    """
    worst = min(assessments, key=_room)
    budgets = [assessment.budget for assessment in assessments]
    items = tuple(
        item._replace(figure=_covering(item.figure, [budget.item(item.name) for budget in budgets]))
        for item in worst.budget.items
    )
    budget = worst.budget._replace(
        requested=_covering(worst.budget.requested, [each.requested for each in budgets]),
        left=_covering(worst.budget.left, [each.left for each in budgets]),
        items=items,
    )
    same = len({assessment.outcome for assessment in assessments}) == 1
    return worst._replace(budget=budget, certainty=worst.certainty if same else "edge")


def _covering(figure: Figure | None, others: Sequence[Figure | None]) -> Figure | None:
    known = [other for other in others if other is not None]
    if figure is None or not known:
        return figure
    low, high = min(other.low for other in known), max(other.high for other in known)
    return figure._replace(low=min(figure.low, low), high=max(figure.high, high))


def _tightest_stage(asked: Sequence[Demand], config: EngineConfig, gpu: Gpu | None, known: Known) -> Assessment:
    device = _device(config, gpu, known)
    return min((_stage(demand, config, device, known) for demand in asked), key=_room)


def _device(config: EngineConfig, gpu: Gpu | None, known: Known) -> Device:
    total = known.total or (gpu.memory if gpu else None)
    free = known.free_at_start
    if total is not None and free is None:
        free = total.minus(counted(config, "context"))
        if config.tensor_parallel_size > 1:
            free = free.minus(counted(config, "nccl_before_snapshot"))
        if known.held_by_others is not None:
            free = free.minus(known.held_by_others)
        free = free._replace(where="total - context")
    return Device(total, free, known.held_by_others)


def _sharpened(known: Known, cut: Layout | None, baseline: EngineConfig) -> Figure | None:
    length = baseline.max_model_len
    if cut is None or length is None or baseline.integer("num_gpu_blocks_override"):
        return known.pool
    return sharpened(known, cut, request_of(baseline, length), plan_rules(baseline))


def _corrections(demand: Demand, known: Known, device: Device) -> Mapping[ItemName, Bytes]:
    """Return by how much the formulas missed what the baseline run printed, for the parts that it printed.

    What a printed pool leaves unexplained is taken as activation; where the parts took too much even without any, the
    next that were not printed take less.
    """
    if known.baseline is None:
        return {}
    computed = parts_of(demand)
    corrected: dict[ItemName, Figure | None] = {name: known.part(name) or computed[name] for name in _PARTS}
    available = available_memory(requested_memory(device.total, known.baseline), corrected, known.baseline)
    gap = _unexplained(known, available, known.baseline)
    for name in _LEAST_KNOWN_FIRST:
        figure = corrected[name]
        if gap and figure is not None and known.part(name) is None:
            corrected[name] = exactly(max(0, figure.value + gap), "computed", "rest of the printed run")
            gap = min(0, figure.value + gap)
    pairs = ((name, corrected[name], computed[name]) for name in _PARTS)
    return {name: one.value - two.value for name, one, two in pairs if one and two and one is not two}


def _unexplained(known: Known, available: Figure | None, baseline: EngineConfig) -> Bytes:
    """Return by how much the printed pool is smaller than ours; a pool of a given size tells nothing of the rest."""
    if available is None or baseline.integer("kv_cache_memory_bytes"):
        return 0
    if known.pool is None:
        return max(0, available.value) if known.empty else 0
    return available.value - known.pool.value


def _stage(demand: Demand, config: EngineConfig, device: Device, known: Known) -> Assessment:
    parts = {name: _part(name, parts_of(demand)[name], known, config) for name in _PARTS}
    pool = _fixed_pool(config, known, device.total)
    counted_parts, _ = with_others(device, parts, config)
    available = pool or available_memory(requested_memory(device.total, config), counted_parts, config)
    rules = plan_rules(config)
    kv = _kv_plan(demand.cut, available, config, rules) or plan_of(known, available, config)
    needed = kv.needed if kv else _needed(demand.cut, config, rules)
    budget = budget_of(device, {**parts, "kv_cache": pool}, config, needed)
    budget = budget._replace(encoder=None if known.other_weights else demand.encoder)
    bare = Assessment(config, budget, kv, "unknown", "likely", None, None, demand.peak, _missing(budget, kv, config))
    return _judged(bare, checks_of(budget, demand, config, needed, kv))


def _judged(assessment: Assessment, checks: tuple[Check, ...], *, died: bool = False) -> Assessment:
    """Draw the conclusion from the checks."""
    failed, least = first_failure(checks, died=died), tightest(checks)
    outcome: Outcome = "crashes" if failed else "starts" if assessment.kv is not None else "unknown"
    return assessment._replace(
        outcome=outcome, certainty=certainty(failed, least), failed=failed, tightest=least, checks=checks
    )


def _part(name: ItemName, computed: Figure | None, known: Known, config: EngineConfig) -> Figure | None:
    """Return the printed figure for the run that printed it; for a changed one, ours shifted to agree with it."""
    printed = known.part(name)
    if name == "weights" and known.other_weights:
        return printed
    if printed is not None and (computed is None or known.is_baseline(config)):
        return printed
    return _shifted(computed, known.corrections.get(name))


def _shifted(figure: Figure | None, correction: Bytes | None) -> Figure | None:
    if figure is None or correction is None:
        return figure
    value = max(0, figure.value + correction)
    # what a printed run settles once keeps only a small band for the change itself
    margin = max(round(value * 0.01), (figure.high - figure.low) // 20)
    where = f"{figure.where}, shifted to the printed run"
    return between(max(0, value - margin), value, value + margin, "computed", where)


def _fixed_pool(config: EngineConfig, known: Known, total: Figure | None) -> Figure | None:
    """Return the pool where it is given, printed, or follows from the printed one."""
    fixed = config.integer("kv_cache_memory_bytes")
    if fixed and (known.pool is None or "kv_cache_memory_bytes" in known.changed(config)):
        return exactly(fixed, "computed", config.settings["kv_cache_memory_bytes"].where)
    if fixed or known.pool is None or known.is_baseline(config) or known.baseline is None:
        return known.pool
    shares = tuple(requested_memory(total, each) for each in (known.baseline, config))
    return _pool_after(known.pool, shares, known.changed(config), config)


def _pool_after(
    pool: Figure, shares: Sequence[Figure | None], changed: frozenset[str], config: EngineConfig
) -> Figure | None:
    """Return the printed pool after a change that only moves its size in full, None where the parts decide anew."""
    before, after = shares
    if "max_model_len" in changed and _pool_follows_length(config):
        return None
    if changed <= {"max_model_len"}:
        return pool
    if before is None or after is None:
        return pool if config.value("device") == "cpu" else None  # there VLLM_CPU_KVCACHE_SPACE decides it
    if not changed <= {"max_model_len", "gpu_memory_utilization"}:
        return None
    return pool.plus(exactly(after.value - before.value, "computed", config.settings[_SHARE].where))


def _pool_follows_length(config: EngineConfig) -> bool:
    """Tell whether a longer max_model_len leaves less: by a longer profile run on V0, by the batch on the CPU."""
    return config.generation == "V0" or batch_bytes(config) > 0


def _kv_plan(cut: Layout | None, available: Figure | None, config: EngineConfig, rules: PlanRules) -> KvPlan | None:
    length = config.max_model_len
    if cut is None or available is None or length is None:
        return None
    override = config.integer("num_gpu_blocks_override") or None
    return plan(cut, available.value, request_of(config, length), rules, override)


def _needed(cut: Layout | None, config: EngineConfig, rules: PlanRules) -> Bytes | None:
    length = config.max_model_len
    return needed_bytes(cut, request_of(config, length), rules) if cut is not None and length else None


def _missing(budget: Budget, kv: KvPlan | None, config: EngineConfig) -> tuple[str, ...]:
    missing = []
    if budget.total is None:
        missing.append("gpu")
    if budget.item("weights") is None:
        missing.append("weights")
    elif budget.item("activation") is None:
        missing.append("model")
    if kv is None and budget.available is not None:
        missing.append("cache_layout" if config.max_model_len else "max_model_len")
    return tuple(missing)


def _room(assessment: Assessment) -> tuple[int, int]:
    """Rank stages and releases: what dies earlier comes first, then what has less room there, or for the cache."""
    failed = assessment.failed
    if failed is not None:
        return (ORDER.index(failed.phase), failed.margin.value)
    rest = assessment.budget.available or assessment.budget.left
    return (len(ORDER), rest.value if rest else 0)
