"""A cache plan from the engine's own words, for a model whose layers are not known."""

from bisect import bisect_left

from oomedic.engine.config import EngineConfig
from oomedic.figure import Figure, between
from oomedic.memory.attention import Request
from oomedic.memory.known import Known, PrintedCache
from oomedic.memory.kv_plan import KvPlan, Layout, PlanRules, needed_bytes, plan
from oomedic.units import Bytes


def plan_of(known: Known, available: Figure | None, config: EngineConfig) -> KvPlan | None:
    """Return what the refused run's own figures say about a request of this configuration's length.

    V0 said how many tokens fit: true while nothing but the length changes. V1 said what one request needs, and mostly
    how long a request may be: between these two points bytes follow a straight line.
    """
    cache, length = known.cache, config.max_model_len
    if cache is None or length is None:
        return None
    size = config.integer("block_size") or 16
    if cache.tokens is not None:
        return _in_tokens(cache.tokens, length, size) if known.changed(config) <= {"max_model_len"} else None
    if cache.needed is None or available is None or known.changed(config) - _SAME_NEED:
        return None
    needed = _needed(cache, known.pool, length)
    if needed <= 0:  # printed as 0.0 GiB
        return None
    longest = _longest(cache, known.pool, available.value, length)
    tokens = longest // size * size
    fits = needed <= available.value
    return KvPlan(available.value, longest // size, size, tokens, available.value / needed, needed, longest, fits)


_LARGEST_POOL = 2**50
"""No card has as much: where the search for a pool of printed tokens ends."""

_SAME_NEED = frozenset({"max_model_len", "gpu_memory_utilization", "max_num_seqs", "enforce_eager"})
"""Settings that do not change what one request needs."""


def sharpened(known: Known, cut: Layout, request: Request, rules: PlanRules) -> Figure | None:
    """Return the printed pool as printed tokens tell it, to one block: GiB are printed with two decimals.

    These are the tokens that it holds, or the longest request that would fit. It stays as it is where no pool of about
    that size could hold exactly these.
    """
    pool, tokens = known.pool, known.tokens
    if not cut.bytes_per_block:
        return pool
    if pool is None:
        return None if tokens is None else _of_tokens(tokens, cut, request, rules)
    if tokens is None:
        longest = known.cache.longest if known.cache else None
        return pool if longest is None else _by_the_longest(pool, cut, request._replace(length=longest), rules)
    block = cut.bytes_per_block
    possible = range(max(0, pool.low // block), max(0, pool.high // block) + 1)
    index = bisect_left(possible, tokens, key=lambda blocks: _tokens_of(cut, blocks, request, rules))
    if index == len(possible) or _tokens_of(cut, possible[index], request, rules) != tokens:
        return pool
    least = max(pool.low, possible[index] * block)
    most = min(pool.high, (possible[index] + 1) * block - 1)
    return pool._replace(value=min(max(pool.value, least), most), low=least, high=most)


def _of_tokens(tokens: int, cut: Layout, request: Request, rules: PlanRules) -> Figure | None:
    """Return the pool that holds exactly the printed tokens, where the log tells no size of it; None if none does."""
    block = cut.bytes_per_block
    possible = range(_LARGEST_POOL // block + 1)
    index = bisect_left(possible, tokens, key=lambda blocks: _tokens_of(cut, blocks, request, rules))
    if index == len(possible) or _tokens_of(cut, index, request, rules) != tokens:
        return None
    return between(index * block, index * block, (index + 1) * block - 1, "printed", "printed tokens")


def _by_the_longest(pool: Figure, cut: Layout, longest: Request, rules: PlanRules) -> Figure:
    """Return a pool in which the longest request fits and one of a token more does not."""
    spare = cut.bytes_per_block if rules.null_block else 0
    least = max(pool.low, needed_bytes(cut, longest, rules) + spare)
    most = min(pool.high, needed_bytes(cut, longest._replace(length=longest.length + 1), rules) + spare - 1)
    return pool._replace(value=min(max(pool.value, least), most), low=least, high=most) if least <= most else pool


def _tokens_of(cut: Layout, blocks: int, request: Request, rules: PlanRules) -> int:
    return plan(cut, blocks * cut.bytes_per_block, request, rules).tokens


def _in_tokens(tokens: int, length: int, size: int) -> KvPlan:
    return KvPlan(None, tokens // size, size, tokens, tokens / length, None, min(tokens, length), length <= tokens)


def _needed(cache: PrintedCache, pool: Figure | None, length: int) -> Bytes:
    """Return the bytes of one request: on the line through zero, the printed longest one and the refused one."""
    needed = cache.needed or 0
    if cache.longest is None or pool is None or cache.longest >= cache.length:
        return round(needed * length / cache.length)
    if length <= cache.longest:
        return round(pool.low * length / cache.longest)
    slope = (needed - pool.value) / (cache.length - cache.longest)
    return round(pool.value + slope * (length - cache.longest))


def _longest(cache: PrintedCache, pool: Figure | None, available: Bytes, length: int) -> int:
    low, high = 0, length
    while low < high:
        middle = (low + high + 1) // 2
        if _needed(cache, pool, middle) <= available:
            low = middle
        else:
            high = middle - 1
    return low
