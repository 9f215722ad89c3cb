"""How a pool is cut: layers grouped by kind, each group with its own block table over one pool of blocks.

Mirrors vllm/v1/core/kv_cache_utils.py get_kv_cache_groups, whose rules changed with the releases (``data/engines``): V0
and V1 up to 0.9.0 give every layer every token.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from oomedic.errors import UsageError
from oomedic.memory.attention import CacheSpec
from oomedic.models.modules import ceil_div
from oomedic.units import Bytes


class PlanRules(NamedTuple):
    """What a release does: see ``[cache]`` in data/engines.

    ``need`` names what one request is held against: "tokens" (V0), "each-layer", "first-group", "all-groups".
    ``chunks_hybrid`` False when the release switches the hybrid manager off for models with chunked layers.
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
    chunks_hybrid: bool = True


class Group(NamedTuple):
    """Layers that share a block table. ``spec.page`` is the page of one layer."""

    spec: CacheSpec
    layers: int


class Layout(NamedTuple):
    """How a pool is cut: one block costs ``bytes_per_block`` over all layers that share it.

    ``uniform`` when one group holds layers of different sizes; ``layers`` are the specs of all layers, in order.
    ``reckoned_per_block`` is what the engine's check takes a block for, where that is not what it costs; ``asked`` are
    the specs before windowed layers became full ones.
    """

    groups: tuple[Group, ...]
    bytes_per_block: Bytes
    layers: tuple[CacheSpec, ...]
    uniform: bool = False
    reckoned_per_block: Bytes | None = None
    asked: tuple[CacheSpec, ...] = ()


def layout(specs: Sequence[CacheSpec], rules: PlanRules) -> Layout:
    """Group the layers of one worker.

    Raises:
        UsageError: ``pages-do-not-unify`` where the engine refuses the mixture of layers.
    """
    asked = tuple(specs)
    hybrid = rules.hybrid and (rules.chunks_hybrid or all(spec.kind != "chunked" for spec in asked))
    return _cut(asked if hybrid else _promoted(asked), rules)._replace(asked=asked)


def _cut(layers: tuple[CacheSpec, ...], rules: PlanRules) -> Layout:
    if not layers:
        return Layout((), 0, ())
    if not rules.grouped or len(set(layers)) == 1:
        page = sum(spec.page for spec in layers)
        return Layout((Group(layers[0], len(layers)),), page, layers, uniform=len(set(layers)) > 1)
    if _same_type(layers):
        page = sum(spec.page for spec in layers)
        return Layout((Group(layers[0]._replace(page=page), 1),), page, layers, uniform=True)
    if any(spec.kind == "latent-window" for spec in layers):
        return _packed(layers)
    return _grouped(_unified(layers, rules), rules)


def _promoted(layers: tuple[CacheSpec, ...]) -> tuple[CacheSpec, ...]:
    """Turn windowed layers into full ones where the model has both (vllm unify_hybrid_kv_cache_specs)."""
    kinds = {spec.kind for spec in layers}
    if not kinds & {"full", "latent"} or len(kinds) == 1:
        return layers
    if kinds & {"state", "cross"}:
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


def _packed(layers: tuple[CacheSpec, ...]) -> Layout:
    """Lay DeepSeek V4's groups over each other in one slab of blocks (vllm get_kv_cache_groups_uniform_groups).

    All compressed caches are one group; windowed ones are grouped by block and window and cut into parts of about as
    many layers, each layer with caches of every page size of its group.
    """
    whole = [spec for spec in layers if spec.kind == "latent"]
    windowed: dict[tuple[int, int | None], list[CacheSpec]] = {}
    for spec in layers:
        if spec.kind == "latent-window":
            windowed.setdefault((spec.block_size, spec.window), []).append(spec)
    if not whole:
        raise UsageError("pages-do-not-unify", page=layers[0].page, largest=max(spec.page for spec in layers))
    depths = [_depth(whole), *(_depth(specs) for specs in windowed.values())]
    part = _least_padding(depths)
    groups = [Group(whole[0]._replace(page=sum(spec.page for spec in whole)), 1)]
    for specs in windowed.values():
        pages, depth = {spec.page for spec in specs}, _depth(specs)
        parts = ceil_div(depth, part)
        for index in range(parts):
            held = len(range(index, depth, parts))
            groups.append(Group(specs[0]._replace(page=held * sum(pages)), 1))
    most = max(_depth(whole), *(group.spec.page // _row(group, windowed) for group in groups[1:]))
    return Layout(
        tuple(groups),
        max(group.spec.page for group in groups),
        layers,
        reckoned_per_block=most * sum({spec.page for spec in whole}),
    )


def _depth(specs: Sequence[CacheSpec]) -> int:
    """Return how many layers a group has, counting layers with caches of several page sizes once."""
    counts: dict[Bytes, int] = {}
    for spec in specs:
        counts[spec.page] = counts.get(spec.page, 0) + 1
    return max(counts.values())


def _row(group: Group, windowed: Mapping[tuple[int, int | None], Sequence[CacheSpec]]) -> Bytes:
    return sum({spec.page for spec in windowed[group.spec.block_size, group.spec.window]})


def _least_padding(depths: Sequence[int]) -> int:
    """Return the part size, from the first depth on, with the fewest padding layers; the larger one on a tie."""
    sizes = range(depths[0], max(depths) + 1)
    return min(sizes, key=lambda size: (sum(-depth % size for depth in depths), -size))
