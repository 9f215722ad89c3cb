"""The plan of the KV cache: groups, blocks, tokens, and whether one request of max_model_len fits.

Mirrors vllm/v1/core/kv_cache_utils.py, whose rules changed with the releases (``data/engines``): V0 and V1 up to 0.9.0 give every
layer every token; later layers are grouped by kind, each group with its own block table over one pool of blocks.
"""

from collections.abc import Sequence
from typing import NamedTuple

from oomedic.attention import CacheSpec, Request, pages
from oomedic.errors import UsageError
from oomedic.modules import ceil_div
from oomedic.units import Bytes


class PlanRules(NamedTuple):
    """What a release does: see ``[cache]`` in data/engines.

    ``need`` names what one request is held against: "tokens" (V0), "each-layer", "first-group", "all-groups".
    ``tokens_line`` names how "KV cache size" is counted: "blocks", "groups", "concurrency". ``hybrid`` False when the
    hybrid manager is off: beside full layers, windowed ones then keep everything.
    """

    grouped: bool
    need: str
    tokens_line: str
    group_ratio: float = 1.0
    unify_pages: bool = False
    pad_pages: bool = False
    null_block: bool = False
    hybrid: bool = True


class Group(NamedTuple):
    """Layers that share a block table. ``spec.page`` is the page of one layer."""

    spec: CacheSpec
    layers: int


class Layout(NamedTuple):
    """How a pool is cut: one block costs ``bytes_per_block`` over all layers that share it.

    ``uniform`` when one group holds layers of different sizes; ``layers`` are the specs of all layers, in order.
    """

    groups: tuple[Group, ...]
    bytes_per_block: Bytes
    layers: tuple[CacheSpec, ...]
    uniform: bool = False


class KvPlan(NamedTuple):
    """What vLLM would print for a pool of ``available`` bytes.

    ``needed`` is what one request of max_model_len takes, ``estimated_max_model_len`` the longest that fits (0: none). Both
    sizes are None where an engine only told tokens.
    """

    available: Bytes | None
    blocks: int
    block_size: int
    tokens: int
    max_concurrency: float
    needed: Bytes | None
    estimated_max_model_len: int
    fits: bool


def layout(specs: Sequence[CacheSpec], rules: PlanRules) -> Layout:
    """Group the layers of one worker.

    Raises:
        UsageError: ``pages-do-not-unify`` where the engine refuses the mixture of layers.
    """
    layers = tuple(specs) if rules.hybrid else _promoted(tuple(specs))
    if not layers:
        return Layout((), 0, ())
    if not rules.grouped or len(set(layers)) == 1:
        page = sum(spec.page for spec in layers)
        return Layout((Group(layers[0], len(layers)),), page, layers, uniform=len(set(layers)) > 1)
    if _same_type(layers):
        page = sum(spec.page for spec in layers)
        return Layout((Group(layers[0]._replace(page=page), 1),), page, layers, uniform=True)
    return _grouped(_unified(layers, rules), rules)


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
        _fits(cut, usable, request, rules),
    )


def blocks_per_request(cut: Layout, request: Request) -> int:
    """Return the blocks that one request takes from the pool, over all groups."""
    if cut.uniform:
        return max(pages(spec, request) for spec in cut.layers)
    return sum(pages(group.spec, request) for group in cut.groups)


def needed_bytes(cut: Layout, request: Request, rules: PlanRules) -> Bytes:
    """Return the bytes that the engine says one request needs, by its own release's rule."""
    if rules.need in {"tokens", "each-layer"} or cut.uniform:
        return sum(pages(spec, request) * spec.page for spec in cut.layers)
    if rules.need == "first-group":
        return cut.bytes_per_block * pages(cut.groups[0].spec, request)
    return cut.bytes_per_block * sum(pages(group.spec, request) for group in cut.groups)


def longest(cut: Layout, usable: Bytes, request: Request, rules: PlanRules) -> int:
    """Return the longest request up to ``request.length`` that fits, 0 when none does (vLLM's own binary search)."""
    if not _fits(cut, usable, request._replace(length=1), rules):
        return 0
    low, high, best = 1, request.length, 1
    while low <= high:
        middle = (low + high) // 2
        if _fits(cut, usable, request._replace(length=middle), rules):
            best, low = middle, middle + 1
        else:
            high = middle - 1
    return best


def _fits(cut: Layout, usable: Bytes, request: Request, rules: PlanRules) -> bool:
    if rules.need == "tokens":
        return request.length <= max(usable, 0) // cut.bytes_per_block * cut.layers[0].block_size
    return needed_bytes(cut, request, rules) <= usable


def _tokens(cut: Layout, blocks: int, concurrency: float, request: Request, rules: PlanRules) -> int:
    if rules.tokens_line == "concurrency":
        return int(concurrency * request.length)
    smallest = min(group.spec.block_size for group in cut.groups)
    return blocks // len(cut.groups) * smallest * request.context_parallel


def _promoted(layers: tuple[CacheSpec, ...]) -> tuple[CacheSpec, ...]:
    """Turn windowed layers into full ones where the model has both (vllm unify_hybrid_kv_cache_specs)."""
    kinds = {spec.kind for spec in layers}
    if not kinds & {"full", "latent"} or len(kinds) == 1:
        return layers
    if "state" in kinds:
        raise UsageError("hybrid-manager-needed")
    windowed = {"sliding", "chunked"}
    return tuple(spec._replace(kind="full", window=None) if spec.kind in windowed else spec for spec in layers)


def _same_type(layers: tuple[CacheSpec, ...]) -> bool:
    growing = {"full", "latent"}
    kinds = {"full" if spec.kind in growing else spec.kind for spec in layers}
    windows = {(spec.window, spec.tokens, spec.block_size) for spec in layers}
    return len(kinds) == 1 and len(windows) == 1


def _unified(layers: tuple[CacheSpec, ...], rules: PlanRules) -> tuple[CacheSpec, ...]:
    largest = max(spec.page for spec in layers)
    return tuple(_with_page(spec, largest, rules) for spec in layers)


def _with_page(spec: CacheSpec, page: Bytes, rules: PlanRules) -> CacheSpec:
    if spec.page == page:
        return spec
    if rules.unify_pages and page % spec.page == 0:
        return spec._replace(page=page, block_size=spec.block_size * (page // spec.page))
    if rules.pad_pages or spec.kind == "state":
        return spec._replace(page=page)
    raise UsageError("pages-do-not-unify", page=spec.page, largest=page)


def _grouped(layers: tuple[CacheSpec, ...], rules: PlanRules) -> Layout:
    buckets: dict[CacheSpec, int] = {}
    for spec in layers:
        buckets[spec] = buckets.get(spec, 0) + 1
    smallest, largest = min(buckets.values()), max(buckets.values())
    size = largest if largest < smallest * rules.group_ratio else smallest
    groups = tuple(Group(spec, size) for spec, count in buckets.items() for _ in range(ceil_div(count, size)))
    return Layout(groups, size * layers[0].page, layers)
