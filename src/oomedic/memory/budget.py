"""The memory of one rank: what was requested, who takes which part in start-up order, and what is left.

The arithmetic of vllm/worker/worker.py and vllm/v1/worker/gpu_worker.py: parts inside the request plus what is left
make up the request; parts outside it (CUDA graphs before the release that counts them) are held against the whole
device.
"""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from oomedic.engine.config import EngineConfig
from oomedic.figure import Figure, between, exactly
from oomedic.memory.demand import Demand
from oomedic.units import Bytes

ItemName = Literal["weights", "non_torch", "activation", "cuda_graphs", "kv_cache"]
ITEMS: Final[tuple[ItemName, ...]] = ("weights", "non_torch", "activation", "cuda_graphs", "kv_cache")
"""In start-up order."""


class Item(NamedTuple):
    """One part; ``inside`` when it is paid out of the requested memory. None: unknown."""

    name: ItemName
    figure: Figure | None
    inside: bool


class Budget(NamedTuple):
    """The memory of the worst rank, in bytes. ``left`` negative means that the engine dies.

    ``available`` is what the engine has for its KV cache, before one request is held against it. ``others`` is what
    other processes hold, where the release counts it as this engine's own memory outside torch. ``encoder`` is the part
    of the weights that encoders of images, video and audio take, None without any.
    """

    total: Figure | None
    free_at_start: Figure | None
    requested: Figure | None
    left: Figure | None
    items: tuple[Item, ...]
    available: Figure | None = None
    others: Figure | None = None
    encoder: Figure | None = None

    @property
    def own_non_torch(self) -> Figure | None:
        """Return what this engine itself holds outside torch."""
        counted = self.item("non_torch")
        return counted.minus(self.others) if counted is not None and self.others is not None else counted

    def item(self, name: ItemName) -> Figure | None:
        """Return the figure of one part."""
        return next(item.figure for item in self.items if item.name == name)


class Device(NamedTuple):
    """The card as this engine finds it: its capacity, and what others hold of it (None: not known)."""

    total: Figure | None
    free_at_start: Figure | None
    held_by_others: Figure | None


def requested_memory(total: Figure | None, config: EngineConfig) -> Figure | None:
    """Return total x gpu_memory_utilization."""
    if total is None:
        return None
    share = config.utilization
    setting = config.settings["gpu_memory_utilization"]
    where = f"{total.where} x {share:g}" if setting.origin == "default" else f"{total.where} x {setting.where}"
    low, value, high = (round(size * share) for size in (total.low, total.value, total.high))
    return between(low, value, high, "computed", where)


def available_memory(
    requested: Figure | None, parts: Mapping[ItemName, Figure | None], config: EngineConfig
) -> Figure | None:
    """Return what the engine has for its KV cache, None when a part of it is unknown."""
    if requested is None:
        return None
    inside = [name for name in ITEMS if name != "kv_cache" and is_inside(name, config)]
    known = [parts[name] for name in inside]
    rest = requested
    for figure in known:
        if figure is None:
            return None
        rest = rest.minus(figure)
    return rest._replace(origin="computed", where="requested - parts")


def is_inside(name: ItemName, config: EngineConfig) -> bool:
    """Tell whether a part is paid out of the requested memory in this release."""
    return name != "cuda_graphs" or config.graphs_budgeted


def budget_of(
    device: Device, parts: Mapping[ItemName, Figure | None], config: EngineConfig, needed: Bytes | None
) -> Budget:
    """Put a rank's memory together.

    Args:
        device: the card.
        parts: each part; ``kv_cache`` only where it is fixed (kv_cache_memory_bytes) or printed.
        config: which parts are inside, and how much is requested.
        needed: bytes that one request of max_model_len takes, None when it cannot be told.
    """
    requested = requested_memory(device.total, config)
    parts, others = with_others(device, parts, config)
    available = parts.get("kv_cache") or available_memory(requested, parts, config)
    pool = _pool(available, needed)
    items = tuple(
        Item(name, pool if name == "kv_cache" else parts.get(name), is_inside(name, config)) for name in ITEMS
    )
    left = _left(requested, available, items, fixed=bool(config.integer("kv_cache_memory_bytes")))
    return Budget(device.total, device.free_at_start, requested, left, items, available, others)


def with_others(
    device: Device, parts: Mapping[ItemName, Figure | None], config: EngineConfig
) -> tuple[Mapping[ItemName, Figure | None], Figure | None]:
    """Add what others hold to the memory outside torch, in releases that cannot tell the two apart.

    Returns the parts, and what was added to them.
    """
    outside, held = parts.get("non_torch"), device.held_by_others
    if not config.accounting.get("others_counted") or outside is None or held is None or outside.origin == "printed":
        return parts, None
    return {**parts, "non_torch": outside.plus(held)}, held


def parts_of(demand: Demand) -> dict[ItemName, Figure | None]:
    """Return the computed parts of a stage under the budget's names."""
    return {
        "weights": demand.weights,
        "non_torch": demand.non_torch,
        "activation": demand.activation,
        "cuda_graphs": demand.cuda_graphs,
    }


def _pool(available: Figure | None, needed: Bytes | None) -> Figure | None:
    """The engine takes all that is available; when one request does not fit, what it would need stands there."""
    if available is None:
        return None
    if needed is not None and needed > available.value:
        return exactly(needed, "computed", "one request of max_model_len")
    if available.value <= 0:
        return exactly(0, available.origin, available.where)
    return available


def _left(requested: Figure | None, available: Figure | None, items: tuple[Item, ...], *, fixed: bool) -> Figure | None:
    """Return the rest exactly, so that inside parts and the rest make up the request.

    A pool takes all that is available, unless its size is ``fixed``: then the engine does not hold it against the
    request, which may be exceeded. Where parts are unknown but the engine printed what it has for its cache, the rest
    is what the cache lacks; where nothing is known of the weights, nothing is known of the rest.
    """
    if requested is None:
        return None
    taken = [item.figure for item in items if item.inside and item.figure is not None]
    if not fixed and any(figure is available for figure in taken):
        return exactly(0, "computed", "requested - inside parts")  # the cache takes all that is available
    pool = next(item.figure for item in items if item.name == "kv_cache")
    if available is not None and pool is not None and any(item.inside and item.figure is None for item in items):
        return available.minus(pool)._replace(where="available - one request")
    if next(item.figure for item in items if item.name == "weights") is None:
        return None
    value = requested.value - sum(figure.value for figure in taken)
    low = requested.low - sum(figure.high for figure in taken)
    high = requested.high - sum(figure.low for figure in taken)
    if fixed and available is pool:
        low, value, high = max(0, low), max(0, value), max(0, high)
    return between(low, value, high, "computed", "requested - inside parts")
