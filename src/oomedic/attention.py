"""Cache bytes per block, and blocks per request, one entry per layer kind.

Mirrors vllm/v1/kv_cache_interface.py (page_size_bytes, max_memory_usage_bytes). A layer kind that is not listed is
refused, never sized as if it were full attention.
"""

from collections.abc import Callable, Mapping
from typing import Final, Literal, NamedTuple

from oomedic.cache_layers import Attention, CacheLayer, CrossAttention, Latent, State
from oomedic.modules import ceil_div, round_up
from oomedic.quantization.scheme import DTYPE_BYTES
from oomedic.units import Bytes

Kind = Literal["full", "latent", "sliding", "chunked", "state", "cross"]


SPARSE_FP8_ROW: Final = 656
"""Bytes of one fp8_ds_mla row: 512 fp8 values, 4 float32 scales and 64 rotary values in bf16."""


class CacheSettings(NamedTuple):
    """What the engine's configuration and version say about the cache.

    ``element_bytes`` of keys and values, ``model_bytes`` of the model's own dtype; ``latent_block_size`` is the block
    that the attention backend forces on latent layers; ``row_pad`` is the multiple to which a latent row is padded;
    ``latent`` False for releases that keep full heads instead; ``sparse_fp8`` when sparse attention stores its fp8 rows
    with scales (fp8_ds_mla). ``sliding`` and ``chunked`` tell whether the release cuts such layers at all.
    """

    block_size: int
    element_bytes: float
    model_bytes: int
    latent: bool = True
    latent_block_size: int | None = None
    row_pad: int = 1
    sparse_fp8: bool = False
    sliding: bool = True
    chunked: bool = True
    state_mode: str = "none"
    max_model_len: int = 0


class CacheSpec(NamedTuple):
    """What one layer asks of the cache: ``page`` bytes for a block of ``block_size`` tokens.

    ``window`` is a sliding window or a chunk in tokens; ``tokens`` the fixed length of a cross-attention cache.
    """

    kind: Kind
    block_size: int
    page: Bytes
    window: int | None = None
    tokens: int | None = None
    mode: str = "none"


class Request(NamedTuple):
    """One request as the planner sees it: its length, and how many tokens may be in flight at once."""

    length: int
    in_flight: int
    context_parallel: int = 1
    speculative: int = 0


def cache_specs(layer: CacheLayer, settings: CacheSettings) -> tuple[CacheSpec, ...]:
    """Return what one layer keeps, per cache that it has (a sparse indexer is a second one)."""
    if isinstance(layer, Attention):
        return (_attention(layer, settings),)
    if isinstance(layer, Latent):
        return _latent(layer, settings)
    if isinstance(layer, CrossAttention):
        page = round(2 * layer.kv_heads * layer.head_size * settings.element_bytes * settings.block_size)
        return (CacheSpec("cross", settings.block_size, page, tokens=layer.tokens),)
    return (_state(layer, settings),)


def pages(spec: CacheSpec, request: Request) -> int:
    """Return how many pages one request of ``request.length`` tokens needs in one layer."""
    return _PAGES[spec.kind](spec, request)


def _attention(layer: Attention, settings: CacheSettings) -> CacheSpec:
    value_size = layer.value_size or layer.head_size
    per_token = layer.kv_heads * (layer.head_size + value_size) * settings.element_bytes
    page = round(per_token * settings.block_size)
    if layer.window is not None and settings.sliding:
        return CacheSpec("sliding", settings.block_size, page, layer.window)
    if layer.chunk is not None and settings.chunked:
        return CacheSpec("chunked", settings.block_size, page, layer.chunk)
    return CacheSpec("full", settings.block_size, page)


def _latent(layer: Latent, settings: CacheSettings) -> tuple[CacheSpec, ...]:
    if not settings.latent:
        full = Attention(layer.heads, layer.key_size)
        return (_attention(full, settings),)
    block = settings.latent_block_size or settings.block_size
    row = round_up(layer.width, settings.row_pad) * settings.element_bytes
    if layer.index_size and settings.sparse_fp8:
        row = SPARSE_FP8_ROW
    specs = [CacheSpec("latent", block, round(row * block))]
    if layer.index_size:
        # one fp8 key and a float32 scale per 128 elements of it
        specs.insert(0, CacheSpec("latent", block, (layer.index_size + ceil_div(layer.index_size, 128) * 4) * block))
    return tuple(specs)


def _state(layer: State, settings: CacheSettings) -> CacheSpec:
    temporal = DTYPE_BYTES[layer.temporal_dtype] if layer.temporal_dtype else settings.model_bytes
    page = layer.convolution * settings.model_bytes + layer.temporal * temporal
    return CacheSpec("state", settings.max_model_len, page, mode=settings.state_mode)


def _growing(spec: CacheSpec, request: Request) -> int:
    return ceil_div(ceil_div(request.length, request.context_parallel), spec.block_size)


def _sliding(spec: CacheSpec, request: Request) -> int:
    # a window need not begin at the start of a block, hence the one more
    kept = min((spec.window or 0) - 1 + request.in_flight, request.length)
    return ceil_div(kept, spec.block_size) + 1


def _chunked(spec: CacheSpec, request: Request) -> int:
    return ceil_div(min((spec.window or 0) + request.in_flight, request.length), spec.block_size)


def _recurrent(spec: CacheSpec, request: Request) -> int:
    if spec.mode == "all":
        return ceil_div(request.length, spec.block_size) + request.speculative
    return (2 if spec.mode == "align" else 1) + request.speculative


def _cross(spec: CacheSpec, _request: Request) -> int:
    return ceil_div(spec.tokens or 0, spec.block_size)


_PAGES: Final[Mapping[Kind, Callable[[CacheSpec, Request], int]]] = {
    "full": _growing,
    "latent": _growing,
    "sliding": _sliding,
    "chunked": _chunked,
    "state": _recurrent,
    "cross": _cross,
}
