"""The plan of the KV cache: blocks, tokens, and whether one request of max_model_len fits.

Mirrors vllm/v1/core/kv_cache_utils.py, whose rules changed with the releases (``data/engines``).
"""

from collections import Counter
from typing import NamedTuple

from oomedic.memory.attention import CacheSpec, Request, pages
from oomedic.memory.kv_layout import Group, Layout, PlanRules, layout
from oomedic.units import Bytes

__all__ = ["Group", "KvPlan", "Layout", "PlanRules", "blocks_per_request", "layout", "longest", "needed_bytes", "plan"]

_Shares = tuple[tuple[CacheSpec, Bytes], ...]


class KvPlan(NamedTuple):
    """What vLLM would print for a pool of ``available`` bytes.

    ``needed`` is what one request of max_model_len takes, ``estimated_max_model_len`` the longest that fits (0:
    none). Both sizes are None where an engine only told tokens.
    """

    available: Bytes | None
    blocks: int
    block_size: int
    tokens: int
    max_concurrency: float
    needed: Bytes | None
    estimated_max_model_len: int
    fits: bool


def plan(
    cut: Layout, available: Bytes, request: Request, rules: PlanRules, override_blocks: int | None = None
) -> KvPlan:
    """Plan a pool of ``available`` bytes for requests like ``request``."""
    if not cut.layers:
        return KvPlan(available, 0, 0, 0, 0.0, 0, request.length, fits=True)
    blocks = max(available, 0) // cut.bytes_per_block if override_blocks is None else override_blocks
    per_request = blocks_per_request(cut, request)
    concurrency = blocks / per_request if rules.grouped else blocks * cut.layers[0].block_size / request.length
    needed = needed_bytes(cut, request, rules)
    usable = available - (cut.bytes_per_block if rules.null_block else 0)
    return KvPlan(
        available,
        blocks,
        min(group.spec.block_size for group in cut.groups),
        _tokens(cut, blocks, concurrency, request, rules),
        concurrency,
        needed,
        longest(cut, usable, request, rules),
        _fits(cut, usable, request, rules, _shares(cut, rules)),
    )


def blocks_per_request(cut: Layout, request: Request) -> int:
    """Return the blocks that one request takes from the pool, over all groups."""
    if cut.uniform:
        return max(pages(spec, request) for spec in cut.layers)
    return sum(pages(group.spec, request) for group in cut.groups)


def needed_bytes(cut: Layout, request: Request, rules: PlanRules) -> Bytes:
    """Return the bytes that the engine says one request needs, by its own release's rule."""
    return _needed(_shares(cut, rules), request)


def longest(cut: Layout, usable: Bytes, request: Request, rules: PlanRules) -> int:
    """Return the longest request up to ``request.length`` that fits, 0 when none does (vLLM's own binary search)."""
    shares = _shares(cut, rules)
    if not _fits(cut, usable, request._replace(length=1), rules, shares):
        return 0
    low, high, best = 1, request.length, 1
    while low <= high:
        middle = (low + high) // 2
        if _fits(cut, usable, request._replace(length=middle), rules, shares):
            best, low = middle, middle + 1
        else:
            high = middle - 1
    return best


def _shares(cut: Layout, rules: PlanRules) -> _Shares:
    """Return the kinds of layers that a request is held against, and what a page of all layers of a kind costs.

    Most layers of a model are alike, and the search for the longest request asks a score of times.
    """
    if rules.need in {"tokens", "each-layer"} or cut.uniform:
        layers = cut.layers if rules.need not in {"tokens", "each-layer"} else cut.asked or cut.layers
        return tuple((spec, spec.page * number) for spec, number in Counter(layers).items())
    block = cut.reckoned_per_block or cut.bytes_per_block
    asked = cut.groups[:1] if rules.need == "first-group" else cut.groups
    return tuple((group.spec, block) for group in asked)


def _needed(shares: _Shares, request: Request) -> Bytes:
    return sum(pages(spec, request) * cost for spec, cost in shares)


def _fits(cut: Layout, usable: Bytes, request: Request, rules: PlanRules, shares: _Shares) -> bool:
    if rules.need == "tokens":
        return request.length <= max(usable, 0) // cut.bytes_per_block * cut.layers[0].block_size
    return _needed(shares, request) <= usable


def _tokens(cut: Layout, blocks: int, concurrency: float, request: Request, rules: PlanRules) -> int:
    if rules.tokens_line == "concurrency":
        return int(concurrency * request.length)
    smallest = min(group.spec.block_size for group in cut.groups)
    return blocks // len(cut.groups) * smallest * request.context_parallel
