"""From a model, a configuration and a card to a budget, a cache plan and the answer: does it start, and if not, where does it die?

The steps of MEMORY_MODEL 8, in the engine's own order. Figures that a log printed replace computed ones, and stay true when
another knob turns: what the formulas got wrong for the printed run is carried over to the changed one.
"""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from oomedic.budget import Budget, Device, ItemName, available_memory, budget_of, parts_of, requested_memory
from oomedic.checkpoint import Checkpoint
from oomedic.demand import Demand, counted, demands, plan_rules, request_of
from oomedic.engine import EngineConfig
from oomedic.figure import Figure, between, exactly
from oomedic.gpu import Gpu
from oomedic.kv_plan import KvPlan, Layout, PlanRules, needed_bytes, plan
from oomedic.phase_order import ORDER
from oomedic.units import Bytes

Outcome = Literal["starts", "crashes", "unknown"]
Certainty = Literal["certain", "likely", "edge"]
_PARTS: Final[tuple[ItemName, ...]] = ("weights", "non_torch", "activation", "cuda_graphs")


class Known(NamedTuple):
    """What is known from outside the formulas: printed by the engine or given by the user.

    ``baseline`` is the configuration of the run that printed the figures. ``weights`` is per rank. ``pool`` is the memory
    that the engine said it has for its KV cache. ``cut`` replaces the layout of a cache that cannot be computed. ``died``
    is the phase in which that run died, and ``missing`` what it lacked there: earlier phases were passed, whatever the
    formulas say. ``corrections`` and ``before`` are what ``calibrate`` works out of them.
    """

    total: Figure | None = None
    free_at_start: Figure | None = None
    held_by_others: Figure | None = None
    weights: Figure | None = None
    non_torch: Figure | None = None
    activation: Figure | None = None
    cuda_graphs: Figure | None = None
    pool: Figure | None = None
    cut: Layout | None = None
    baseline: EngineConfig | None = None
    died: str | None = None
    missing: Bytes | None = None
    corrections: Mapping[ItemName, Bytes] = {}
    before: tuple["Check", ...] = ()

    def part(self, name: ItemName) -> Figure | None:
        """Return the known figure of one part."""
        figure = getattr(self, name)
        return figure if isinstance(figure, Figure) else None


NOTHING_KNOWN: Final = Known()


class Check(NamedTuple):
    """One step that can fail: ``margin`` is what is left there, negative when it dies."""

    phase: str
    margin: Figure
    what: str


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
    worst = _uncorrected(checkpoint, config, gpu, known)
    return _settled(worst, known) if known.died is not None else worst


def calibrate(checkpoint: Checkpoint | None, gpu: Gpu | None, known: Known) -> Known:
    """Work out once by how much the formulas missed what the baseline run printed, and where it died.

    Raises:
        UsageError, InputError: as ``assess``.
    """
    baseline = known.baseline
    if baseline is None:
        return known
    known = known._replace(corrections=_corrections(checkpoint, gpu, known, _device(baseline, gpu, known)))
    before = _uncorrected(checkpoint, baseline, gpu, known)
    return known._replace(before=before.checks)


def _uncorrected(checkpoint: Checkpoint | None, config: EngineConfig, gpu: Gpu | None, known: Known) -> Assessment:
    device = _device(config, gpu, known)
    ranks = [_assess_stage(demand, config, device, known) for demand in demands(checkpoint, config, gpu)]
    return min(ranks, key=_room)


def _device(config: EngineConfig, gpu: Gpu | None, known: Known) -> Device:
    total = known.total or (gpu.memory if gpu else None)
    if total is None:
        return Device(None, known.free_at_start, known.held_by_others)
    free = known.free_at_start
    if free is None:
        free = total.minus(counted(config, "context"))
        if config.tensor_parallel_size > 1:
            free = free.minus(counted(config, "nccl_before_snapshot"))
        if known.held_by_others is not None:
            free = free.minus(known.held_by_others)
        free = free._replace(where="total - context")
    return Device(total, free, known.held_by_others)


def _corrections(
    checkpoint: Checkpoint | None, gpu: Gpu | None, known: Known, device: Device
) -> Mapping[ItemName, Bytes]:
    """Return by how much the formulas missed what the baseline run printed, for the parts that it printed."""
    if known.baseline is None:
        return {}
    demand = demands(checkpoint, known.baseline, gpu)[0]
    computed = parts_of(demand)
    corrected: dict[ItemName, Figure | None] = {name: known.part(name) or computed[name] for name in _PARTS}
    available = available_memory(requested_memory(device.total, known.baseline), corrected, known.baseline)
    if known.pool is not None and available is not None and known.activation is None:
        activation = corrected["activation"]
        if activation is not None:
            gap = available.value - known.pool.value
            corrected["activation"] = exactly(max(0, activation.value + gap), "computed", "rest of the printed run")
    pairs = ((name, corrected[name], computed[name]) for name in _PARTS)
    return {name: one.value - two.value for name, one, two in pairs if one and two and one is not two}


def _assess_stage(demand: Demand, config: EngineConfig, device: Device, known: Known) -> Assessment:
    parts = {name: _part(name, parts_of(demand)[name], known, config) for name in _PARTS}
    pool = _fixed_pool(config, known)
    available = pool or available_memory(requested_memory(device.total, config), parts, config)
    cut, rules = known.cut or demand.cut, plan_rules(config)
    kv = _kv_plan(cut, available, config, rules)
    needed = kv.needed if kv else _needed(cut, config, rules)
    budget = budget_of(device, {**parts, "kv_cache": pool}, config, needed)
    checks = _checks(budget, demand, config, needed, kv)
    bare = Assessment(config, budget, kv, "unknown", "likely", None, None, demand.peak, _missing(budget, kv, config))
    return _judged(bare, checks)


def _judged(assessment: Assessment, checks: tuple[Check, ...]) -> Assessment:
    """Draw the conclusion from the checks."""
    failed = next((check for check in checks if check.margin.value < 0), None)
    tightest = min(checks, key=lambda check: check.margin.value, default=None)
    return assessment._replace(
        outcome=_outcome(failed, assessment.budget, assessment.kv),
        certainty=_certainty(failed, tightest),
        failed=failed,
        tightest=tightest,
        checks=checks,
    )


def _settled(assessment: Assessment, known: Known) -> Assessment:
    """Carry over what the run showed: the phases that it passed have room, the one it died in lacks what it lacked."""
    shifts = {(check.phase, check.what): _shift(check, known) for check in known.before}
    checks = tuple(
        check._replace(margin=_moved(check.margin, shifts.get((check.phase, check.what), 0)))
        for check in assessment.checks
    )
    return _judged(assessment, checks)


def _shift(check: Check, known: Known) -> Bytes:
    died = known.died or ""
    if check.phase not in ORDER or died not in ORDER:
        return 0
    margin = check.margin.value
    if ORDER.index(check.phase) < ORDER.index(died):
        return max(0, -margin)
    if check.phase == died and check.what != "available":
        return -(known.missing or 1) - margin
    return 0


def _moved(figure: Figure, by: Bytes) -> Figure:
    if by == 0:
        return figure
    # what the run showed settles most of the band; what a change of settings adds keeps its own
    margin = min(figure.high - figure.low, abs(by)) // 4
    value = figure.value + by
    return between(value - margin, value, value + margin, "computed", f"{figure.where}, as the run showed")


def _part(name: ItemName, computed: Figure | None, known: Known, config: EngineConfig) -> Figure | None:
    """Return the printed figure for the run that printed it; for a changed one, ours shifted to agree with it."""
    printed = known.part(name)
    if printed is not None and (computed is None or known.baseline is None or config is known.baseline):
        return printed
    return _shifted(computed, known.corrections.get(name))


def _shifted(figure: Figure | None, correction: Bytes | None) -> Figure | None:
    if figure is None or correction is None:
        return figure
    value = max(0, figure.value + correction)
    # what a printed run settles once keeps only a small band for the change itself
    margin = max(round(value * 0.01), (figure.high - figure.low) // 20)
    return between(
        max(0, value - margin), value, value + margin, "computed", f"{figure.where}, shifted to the printed run"
    )


def _fixed_pool(config: EngineConfig, known: Known) -> Figure | None:
    fixed = config.integer("kv_cache_memory_bytes")
    if fixed:
        return exactly(fixed, "computed", config.settings["kv_cache_memory_bytes"].where)
    if known.pool is not None and (known.baseline is None or config is known.baseline):
        return known.pool
    return None


def _kv_plan(cut: Layout | None, available: Figure | None, config: EngineConfig, rules: PlanRules) -> KvPlan | None:
    length = config.max_model_len
    if cut is None or available is None or length is None:
        return None
    override = config.integer("num_gpu_blocks_override") or None
    return plan(cut, available.value, request_of(config, length), rules, override)


def _needed(cut: Layout | None, config: EngineConfig, rules: PlanRules) -> Bytes | None:
    length = config.max_model_len
    return needed_bytes(cut, request_of(config, length), rules) if cut is not None and length else None


def _checks(
    budget: Budget, demand: Demand, config: EngineConfig, needed: Bytes | None, kv: KvPlan | None
) -> tuple[Check, ...]:
    """Return the steps of a start in order, as far as their figures are known."""
    checks: list[Check] = []
    free, weights = budget.free_at_start, budget.item("weights")
    if config.accounting.get("free_memory_check") and free is not None and budget.requested is not None:
        checks.append(Check("free_memory_check", free.minus(budget.requested), "requested"))
    if free is not None and weights is not None:
        checks.append(Check("weights_load", free.minus(weights), "weights"))
        activation, outside = budget.item("activation"), budget.item("non_torch")
        if activation is not None and outside is not None:
            loaded = free.minus(weights).minus(activation).minus(outside)
            checks.append(Check("profile_run", loaded, "activation"))
    if budget.available is not None:
        checks.append(Check("kv_check", budget.available, "available"))
        if needed is not None:
            checks.append(Check("kv_check", _room_for_one(budget.available, needed, kv), "one request"))
        checks.extend(_after_the_pool(budget, demand))
    return tuple(checks)


def _room_for_one(available: Figure, needed: Bytes, kv: KvPlan | None) -> Figure:
    margin = available.minus(exactly(needed, "computed", "one request"))
    if kv is not None and not kv.fits and margin.value >= 0:
        # the plan refuses what the bytes alone would allow: a block is kept back, or the last one is not whole
        return margin._replace(value=-1, low=min(margin.low, -1))
    return margin


def _after_the_pool(budget: Budget, demand: Demand) -> list[Check]:
    """Return the room for graphs and the sampler's warm-up once the pool is allocated."""
    free, weights, pool = budget.free_at_start, budget.item("weights"), budget.available
    graphs, outside = budget.item("cuda_graphs"), budget.item("non_torch")
    if free is None or weights is None or pool is None or graphs is None or outside is None or pool.value <= 0:
        return []
    rest = free.minus(weights).minus(pool).minus(outside).minus(demand.workspace)
    after = rest.minus(graphs)
    checks = [Check("graph_capture", after, "cuda_graphs")] if graphs.value else []
    if demand.warm_up is not None:
        checks.append(Check("sampler_warmup", after.minus(demand.warm_up), "sampler"))
    return checks


def _outcome(failed: Check | None, budget: Budget, kv: KvPlan | None) -> Outcome:
    if failed is not None:
        return "crashes"
    return "starts" if budget.available is not None and kv is not None else "unknown"


def _certainty(failed: Check | None, tightest: Check | None) -> Certainty:
    if failed is not None:
        return "certain" if failed.margin.high < 0 else "likely"
    if tightest is None:
        return "likely"
    if tightest.margin.low >= 0:
        return "certain"
    return "likely" if tightest.margin.value > -tightest.margin.low else "edge"


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


def _room(assessment: Assessment) -> float:
    """Rank stages: the one that dies first, then the one with the least concurrency."""
    if assessment.failed is not None:
        return float(assessment.failed.margin.value)
    return assessment.kv.max_concurrency if assessment.kv else 0.0
