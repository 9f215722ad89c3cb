"""What one engine was told, under a release's [cache] table: the settings of its cache and the rules of its plan."""

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

from oomedic.memory.attention import CacheSettings
from oomedic.memory.kv_plan import PlanRules
from oomedic.models.quantization import Scheme
from oomedic.models.quantization.scheme import DTYPE_BYTES

Table = Mapping[str, Any]

_CACHES_EACH_STATE: Final = frozenset(
    ("bamba", "falcon_h1", "falcon_mamba", "granitemoehybrid", "jamba", "mamba", "mamba2", "nemotron_h", "zamba2")
)
"""Model types whose class supports a cached state for each block (SupportsMambaPrefixCaching)."""


class CacheUse(NamedTuple):
    """What one engine's configuration says about its cache.

    ``model_type`` and ``sparse`` are the model's: its type, and whether its attention has a sparse indexer.
    ``block_size`` is None unless it was given; ``model_bytes`` is the size of the model's dtype; ``capability`` the
    major one. ``prefix_caching`` tells whether states are cached for prefixes too, which costs a hybrid model pages.
    ``state_mode`` is mamba_cache_mode where it was given, ``speculative`` num_speculative_tokens.
    """

    model_type: str
    generation: Literal["V0", "V1"] = "V1"
    block_size: int | None = None
    kv_cache_dtype: str = "auto"
    model_bytes: int = 2
    capability: int = 9
    sparse: bool = False
    max_model_len: int = 0
    prefix_caching: bool = False
    hybrid_manager: bool = True
    state_mode: str | None = None
    speculative: int = 0


def plan_rules(cache: Table, use: CacheUse) -> PlanRules:
    """Return the planner's rules of a release."""
    if use.generation == "V0" or cache["sliding"] != "windowed":
        need = "tokens" if use.generation == "V0" else "each-layer"
        return PlanRules(grouped=False, need=need, tokens_line="blocks")
    return PlanRules(
        grouped=True,
        need=str(cache["need"]),
        tokens_line=str(cache["tokens_line"]),
        group_ratio=float(cache.get("group_ratio", 1.0)),
        unify_pages=bool(cache.get("unify_pages")),
        pad_pages=bool(cache.get("pad_attention_pages")),
        null_block=bool(cache.get("null_block")),
        hybrid=use.hybrid_manager,
        chunks_hybrid=cache.get("chunked_local") == "windowed",
    )


def cache_settings(cache: Table, use: CacheUse, element_bytes: float) -> CacheSettings:
    """Return what decides the bytes of a block; ``element_bytes`` are those of one key or value."""
    windowed = use.generation == "V1"
    return CacheSettings(
        block_size=use.block_size or int(cache.get("block_size", 16)),
        element_bytes=element_bytes,
        model_bytes=use.model_bytes,
        latent=_is_latent(cache, use),
        latent_block_size=None if use.block_size else _latent_block(cache, use, element_bytes),
        row_pad=int(cache.get("row_pad", 1)) if use.generation == "V0" else 1,
        sparse_fp8=use.sparse and element_bytes == 1,
        sliding=windowed,
        chunked=windowed and cache.get("chunked_local") in {"windowed", "unhybrid"},
        states=_states(cache, use),
        state_mode=_state_mode(cache, use),
        latent_align=int(cache.get("latent_state_align", 128)),
        max_model_len=use.max_model_len,
        speculative=use.speculative,
    )


def speculative_blocks(cache: Table, use: CacheUse) -> int:
    """Return how many blocks more of a state the planner counts for each request."""
    return use.speculative if cache.get("state_speculates") else 0


def element_bytes(cache: Table, use: CacheUse, scheme: Scheme | None) -> float:
    """Return the bytes of one cached element: an fp8 cache where asked for, or where the checkpoint declares it."""
    asked = use.kv_cache_dtype
    if asked == "auto":
        heeded = scheme is not None and scheme.method in cache.get("declared_dtype", ())
        return 1 if heeded and scheme is not None and scheme.kv_cache_dtype else use.model_bytes
    if asked.startswith(("fp8", "int8", "uint8")):
        return 1
    if asked.startswith("nvfp4"):
        return 0.5625
    return DTYPE_BYTES.get(asked, use.model_bytes)


def _is_latent(cache: Table, use: CacheUse) -> bool:
    """Tell whether the release caches latent rows for this model type, or full heads."""
    listed = cache.get("latent_types", ())
    return bool(cache.get("mla", True)) and (not listed or use.model_type in listed)


def _latent_block(cache: Table, use: CacheUse, size: float) -> int | None:
    key = str(use.capability)
    if use.sparse:
        forced = cache.get("sparse_latent_block")
        return None if forced is None else int(forced)
    forced = cache.get("latent_block", {}).get(key)
    if size == 1:
        forced = forced or cache.get("latent_block_fp8", {}).get(key)
    return None if forced is None else int(forced)


def _states(cache: Table, use: CacheUse) -> Literal["paged", "outside", "refused"]:
    if use.generation == "V0":
        return "outside"
    return "paged" if cache.get("state_pages", True) else "refused"


def _state_mode(cache: Table, use: CacheUse) -> str:
    """Return mamba_cache_mode as vllm/model_executor/models/config.py MambaModelConfig sets it."""
    if not use.prefix_caching:
        return "none"
    if use.model_type not in _CACHES_EACH_STATE:
        return str(cache.get("other_state_mode", "align"))
    return use.state_mode or str(cache.get("cached_state_mode", "align"))
