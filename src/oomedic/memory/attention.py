"""Cache bytes per block, and blocks per request, one entry per layer kind.

Mirrors vllm/v1/kv_cache_interface.py (page_size_bytes, max_memory_usage_bytes). A layer kind that is not listed is
refused, never sized as if it were full attention.
"""

from collections.abc import Callable, Mapping, Sequence
from math import lcm
from typing import Final, Literal, NamedTuple

from oomedic.errors import InputError, UsageError
from oomedic.models.cache_layers import Attention, CacheLayer, Compressed, CrossAttention, KeyOnly, Latent, State
from oomedic.models.modules import ceil_div, round_up
from oomedic.models.quantization.scheme import DTYPE_BYTES
from oomedic.units import Bytes

Kind = Literal["full", "latent", "latent-window", "sliding", "chunked", "state", "cross"]


SPARSE_FP8_ROW: Final = 656
"""Bytes of one fp8_ds_mla row: 512 fp8 values, 4 float32 scales and 64 rotary values in bf16."""

_V4_BLOCK: Final = 256
_V4_ROW: Final = 576


class CacheSettings(NamedTuple):
    """What the engine's configuration and version say about the cache.

    ``element_bytes`` of keys and values, ``model_bytes`` of the model's own dtype; ``latent_block_size`` is the block
    that the attention backend forces on latent layers; ``row_pad`` is the multiple to which a latent row is padded;
    ``latent`` False for releases that keep full heads instead; ``sparse_fp8`` when sparse attention stores its fp8 rows
    with scales (fp8_ds_mla). ``sliding`` and ``chunked`` tell whether the release cuts such layers at all.

    ``states`` tells what becomes of recurrent states: they share the pool's pages, stand outside it (V0), or the
    release refuses models with them. ``state_mode`` is vLLM's mamba_cache_mode, ``state_page`` the size they are
    padded to. ``speculative`` tokens per step make each state's convolution longer.
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
    states: Literal["paged", "outside", "refused"] = "paged"
    state_mode: str = "none"
    state_align: int = 16
    latent_align: int = 128
    state_page: Bytes | None = None
    max_model_len: int = 0
    speculative: int = 0


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
    """One request as the planner sees it: its length, and how many tokens may be in flight at once.

    ``encoder_tokens`` is what the engine reserves for an encoder's output, max_num_encoder_input_tokens.
    """

    length: int
    in_flight: int
    context_parallel: int = 1
    speculative: int = 0
    encoder_tokens: int = 0


def layer_specs(
    layers: Sequence[CacheLayer], settings: CacheSettings, fitted_state: State | None = None
) -> tuple[CacheSpec, ...]:
    """Return what all layers of a worker keep, in their order.

    Args:
        layers: the caches of the worker's layers.
        settings: of the engine.
        fitted_state: a state to which blocks are fitted although no layer keeps it.

    Raises:
        UsageError: ``states-unsupported`` where the release cannot serve layers that keep a state.
        InputError: ``config-malformed`` when a layer's cache has no size.
    """
    states = [layer for layer in layers if isinstance(layer, State)]
    if states and settings.states == "refused":
        raise UsageError("states-unsupported")
    if fitted_state is not None:
        states.append(fitted_state)
    fitted = _fitted(layers, states, settings)
    specs = tuple(spec for layer in layers for spec in cache_specs(layer, fitted))
    _check_sizes(specs)
    return specs


def _check_sizes(specs: Sequence[CacheSpec]) -> None:
    if any(spec.page <= 0 for spec in specs):
        raise InputError("config-malformed", problem="a layer's cache has no size", model_type="")


def _fitted(layers: Sequence[CacheLayer], states: Sequence[State], settings: CacheSettings) -> CacheSettings:
    """Enlarge the attention block until its page holds a recurrent state, as hybrid models need it.

    Mirrors HybridAttentionMambaModelConfig (vllm/model_executor/models/config.py, later platforms/interface.py).
    """
    attending = [layer for layer in layers if isinstance(layer, Attention | Latent)]
    if not states or settings.states != "paged":
        return settings
    if not attending:
        return settings._replace(state_mode="none")
    largest = max(_state_bytes(state, settings) for state in states)
    latent = isinstance(attending[0], Latent)
    align = settings.latent_align if latent else settings.state_align
    single = settings._replace(block_size=1, latent_block_size=1 if latent else None)
    one = cache_specs(attending[0], single)
    _check_sizes(one)
    token = max(spec.page for spec in one)
    if settings.state_mode == "all":
        align = lcm(align, next((state.chunk for state in states if state.chunk), align))
    block = max(settings.block_size, align * ceil_div(largest, align * token))
    return settings._replace(block_size=block, latent_block_size=block if latent else None, state_page=block * token)


def cache_specs(layer: CacheLayer, settings: CacheSettings) -> tuple[CacheSpec, ...]:
    """Return what one layer keeps, per cache that it has (a sparse indexer is a second one)."""
    if isinstance(layer, Attention):
        return (_attention(layer, settings),)
    if isinstance(layer, Latent):
        return _latent(layer, settings)
    if isinstance(layer, CrossAttention):
        page = round(2 * layer.kv_heads * layer.head_size * settings.element_bytes * settings.block_size)
        return (CacheSpec("cross", settings.block_size, page, tokens=layer.tokens),)
    if isinstance(layer, KeyOnly):
        return (CacheSpec("latent", settings.block_size, layer.size * settings.model_bytes * settings.block_size),)
    if isinstance(layer, Compressed):
        return _compressed(layer, settings)
    return () if settings.states == "outside" else (_state(layer, settings),)


def pages(spec: CacheSpec, request: Request) -> int:
    """Return how many pages one request of ``request.length`` tokens needs in one layer."""
    return _PAGES[spec.kind](spec, request)


def _attention(layer: Attention, settings: CacheSettings) -> CacheSpec:
    value_size = layer.value_size or layer.head_size
    element_bytes = settings.model_bytes if layer.own_dtype else settings.element_bytes
    per_token = layer.kv_heads * (layer.head_size + value_size) * element_bytes
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
    if settings.sparse_fp8:
        row = SPARSE_FP8_ROW
    specs = [CacheSpec("latent", block, round(row * block))]
    if layer.index_size:
        # one fp8 key and a float32 scale per 128 elements of it
        specs.insert(0, CacheSpec("latent", block, (layer.index_size + ceil_div(layer.index_size, 128) * 4) * block))
    return tuple(specs)


def _compressed(layer: Compressed, settings: CacheSettings) -> tuple[CacheSpec, ...]:
    """Return the caches of a DeepSeek V4 layer (vllm/models/deepseek_v4): pages are padded to whole rows of 576 bytes.

    Keys take 448 fp8 values, 64 rotary ones in bf16 and scales; what the compressors keep is float32.
    """
    del settings  # the layout is fixed: fp8 keys, blocks of 256 tokens
    key = layer.width + 72
    specs = [_v4_spec("latent-window", 64, 64 * key, layer.window)]
    if layer.ratio:
        wide = 2 if layer.index_size else 1
        block, window = (4, 2 * layer.ratio) if layer.index_size else (8, layer.ratio)
        if layer.index_size:
            index = layer.index_size + 4
            specs.append(_v4_spec("latent", _V4_BLOCK, _V4_BLOCK // layer.ratio * index))
            specs.append(_v4_spec("latent-window", block, block * 2 * wide * layer.index_size * 4, window))
        specs.append(_v4_spec("latent", _V4_BLOCK, _V4_BLOCK // layer.ratio * key))
        specs.append(_v4_spec("latent-window", block, block * 2 * wide * layer.width * 4, window))
    return tuple(specs)


def _v4_spec(kind: Kind, block: int, page: Bytes, window: int | None = None) -> CacheSpec:
    return CacheSpec(kind, block, round_up(page, _V4_ROW), window)


def _state(layer: State, settings: CacheSettings) -> CacheSpec:
    page = settings.state_page or _state_bytes(layer, settings)
    block = settings.max_model_len if settings.state_mode == "none" else settings.block_size
    return CacheSpec("state", block, page, mode=settings.state_mode)


def _state_bytes(layer: State, settings: CacheSettings) -> Bytes:
    temporal = DTYPE_BYTES.get(str(layer.temporal_dtype), settings.model_bytes)
    convolution = layer.convolution + settings.speculative * layer.conv_row
    return convolution * settings.model_bytes + layer.temporal * temporal


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


def _cross(spec: CacheSpec, request: Request) -> int:
    return ceil_div(request.encoder_tokens or spec.tokens or 0, spec.block_size)


_PAGES: Final[Mapping[Kind, Callable[[CacheSpec, Request], int]]] = {
    "full": _growing,
    "latent": _growing,
    "sliding": _sliding,
    "latent-window": _sliding,
    "chunked": _chunked,
    "state": _recurrent,
    "cross": _cross,
}
