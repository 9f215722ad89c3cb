"""The steps of a start that can fail, in the engine's own order, each with the memory that is left there."""

from typing import Final, Literal

from oomedic.engine.config import EngineConfig
from oomedic.figure import Figure, between, exactly
from oomedic.memory.budget import Budget
from oomedic.memory.demand import Demand
from oomedic.memory.known import Check, Known
from oomedic.memory.kv_plan import KvPlan
from oomedic.phase_order import ORDER
from oomedic.units import Bytes

Certainty = Literal["certain", "likely", "edge"]
_SLACK: Final = 0.1
_NOT_OF_THE_CARD: Final = frozenset({"available", "state blocks"})
"""What a lack of memory on the card says nothing of."""


def checks_of(
    budget: Budget, demand: Demand, config: EngineConfig, needed: Bytes | None, kv: KvPlan | None
) -> tuple[Check, ...]:
    """Return the steps, as far as their figures are known."""
    checks: list[Check] = []
    free, weights = budget.free_at_start, budget.item("weights")
    if config.accounting.get("free_memory_check") and free is not None and budget.requested is not None:
        checks.append(Check("free_memory_check", free.minus(budget.requested), "requested"))
    if free is not None and weights is not None:
        checks.append(Check("weights_load", free.minus(weights), "weights"))
        activation, outside = budget.item("activation"), budget.own_non_torch
        if activation is not None and outside is not None:
            checks.append(Check("profile_run", free.minus(weights).minus(activation).minus(outside), "activation"))
    if budget.available is not None:
        checks.append(Check("kv_check", budget.available, "available"))
        if needed is not None:
            checks.append(Check("kv_check", _room_for_one(budget.available, needed, kv), "one request"))
        checks.extend(_states(demand, config, kv))
        checks.extend(_after_the_pool(budget, demand))
    elif kv is not None and not kv.fits:
        checks.append(Check("kv_check", exactly(-1, "printed", "one request"), "one request"))
    return tuple(checks)


def first_failure(checks: tuple[Check, ...], *, died: bool = False) -> Check | None:
    """Return the first step without room, None when each has some.

    A step that lacks less than a tenth of what its figures may be wrong by counts as passed, for most engines start;
    not so once a run has shown where it ``died``.
    """
    slack = 0.0 if died else _SLACK
    return next((check for check in checks if check.margin.value < min(0.0, slack * check.margin.low)), None)


def tightest(checks: tuple[Check, ...]) -> Check | None:
    """Return the step with the least room."""
    return min(checks, key=lambda check: check.margin.value, default=None)


def certainty(failed: Check | None, least: Check | None) -> Certainty:
    """Tell how sure the conclusion is: the band of the deciding step does or does not cross zero."""
    if failed is not None:
        return "certain" if failed.margin.high < 0 else "likely"
    if least is None:
        return "likely"
    if least.margin.low >= 0:
        return "certain"
    return "likely" if least.margin.value > -least.margin.low else "edge"


def settled(checks: tuple[Check, ...], known: Known) -> tuple[Check, ...]:
    """Carry over what the run showed: the steps that it passed have room, the one it died in lacks what it lacked."""
    shifts = {(check.phase, check.what): _shift(check, known) for check in known.before}
    return tuple(
        check._replace(margin=_moved(check.margin, shifts.get((check.phase, check.what), 0))) for check in checks
    )


def _room_for_one(available: Figure, needed: Bytes, kv: KvPlan | None) -> Figure:
    margin = available.minus(exactly(needed, "computed", "one request"))
    if kv is not None and not kv.fits and margin.value >= 0:
        # the plan refuses what the bytes alone would allow: a block is kept back, or the last one is not whole
        return margin._replace(value=-1, low=min(margin.low, -1))
    return margin


def _states(demand: Demand, config: EngineConfig, kv: KvPlan | None) -> list[Check]:
    """Return the blocks that are left when each running request has one for its recurrent state, as bytes.

    vllm/v1/worker/gpu_model_runner.py since 0.20: graphs cannot be captured with more requests than blocks.
    """
    cut = demand.cut
    checked = config.accounting.get("state_blocks_check") and not config.flag("enforce_eager")
    if not checked or kv is None or cut is None or not any(spec.kind == "state" for spec in cut.layers):
        return []
    left = (kv.blocks - config.integer("max_num_seqs")) * cut.bytes_per_block
    return [Check("graph_capture", exactly(left, "computed", "state blocks"), "state blocks")]


def _after_the_pool(budget: Budget, demand: Demand) -> list[Check]:
    """Return the room for the pool itself, then for graphs and the sampler's warm-up."""
    free, weights, pool = budget.free_at_start, budget.item("weights"), budget.available
    graphs, outside = budget.item("cuda_graphs"), budget.own_non_torch
    if free is None or weights is None or pool is None or graphs is None or outside is None or pool.value <= 0:
        return []
    beside = free.minus(weights).minus(pool).minus(outside)
    after = beside.minus(demand.workspace).minus(graphs)
    checks = [Check("kv_alloc", beside, "kv_cache")]
    checks += [Check("graph_capture", after, "cuda_graphs")] if graphs.value else []
    if demand.warm_up is not None:
        checks.append(Check("sampler_warmup", after.minus(demand.warm_up), "sampler"))
    return checks


def _shift(check: Check, known: Known) -> Bytes:
    died = known.died or ""
    if check.phase not in ORDER or died not in ORDER:
        return 0
    margin = check.margin.value
    if ORDER.index(check.phase) < ORDER.index(died):
        return max(0, -margin)
    if check.phase != died or check.what in _NOT_OF_THE_CARD:
        return 0
    if known.missing is not None:
        return -known.missing - margin
    return min(0, -1 - margin)


def _moved(figure: Figure, by: Bytes) -> Figure:
    if by == 0:
        return figure
    # what the run showed settles most of the band; what a change of settings adds keeps its own
    margin = min(figure.high - figure.low, abs(by)) // 4
    value = figure.value + by
    return between(value - margin, value, value + margin, "computed", f"{figure.where}, as the run showed")
