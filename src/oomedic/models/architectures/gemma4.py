"""Gemma 4: wider heads in the layers that attend to everything, experts beside the MLP, embeddings for each layer.

Mirrors vllm/model_executor/models/gemma4.py. The last ``num_kv_shared_layers`` layers use the cache of earlier ones;
where keys serve as values (attention_k_eq_v) both are held all the same.
"""

from typing import NamedTuple

from oomedic.models.architectures.dense import Switches, attention_modules
from oomedic.models.architectures.gemma3n import per_layer_embedding
from oomedic.models.architectures.stack import Layer, Stack, embedding, gated_mlp, head, is_tied, norms
from oomedic.models.architectures.windows import windows
from oomedic.models.cache_layers import Attention
from oomedic.models.hf_config import Config, first, head_dim, key_value_heads, layer_count, need, number
from oomedic.models.modules import Buffer, Experts, Linear, Module, Shard, Table

GEMMA4 = frozenset({"gemma4_text", "gemma4_unified_text"})
"""Model types of this family."""


class _Kind(NamedTuple):
    """What sets layers apart: a window or none, an MLP of twice the width."""

    window: int | None
    wide: bool


def build(config: Config, shard: Shard) -> Stack:
    """Make the stack of the text part of Gemma 4."""
    count = layer_count(config)
    own_cache = count - number(config, "num_kv_shared_layers", default=0)
    doubles = bool(config.get("use_double_wide_mlp"))
    kinds = [_Kind(window, doubles and index >= own_cache) for index, window in enumerate(windows(config))]
    modules = {kind: _layer(config, shard, kind) for kind in set(kinds)}
    caches = {kind: (_cache(config, shard, kind),) for kind in set(kinds)}
    positions = number(config, "max_position_embeddings", default=0)
    return Stack(
        tuple(Layer(modules[kind], caches[kind] if index < own_cache else ()) for index, kind in enumerate(kinds)),
        (*embedding(config, shard), *per_layer_embedding(config, shard)),
        (*norms(need(config, "hidden_size"), 1), *head(config, shard)),
        tuple(Buffer("rotary", positions * size) for size in (head_dim(config), _full_head(config))),
        is_tied(config, default=True),
    )


def _full_head(config: Config) -> int:
    return number(config, "global_head_dim", default=head_dim(config))


def _full_kv_heads(config: Config) -> int:
    given = first(config, "num_global_key_value_heads") if config.get("attention_k_eq_v") else None
    return int(given) if given else key_value_heads(config)


def _cache(config: Config, shard: Shard, kind: _Kind) -> Attention:
    if kind.window is None:
        return Attention(shard.key_value_heads(_full_kv_heads(config)), _full_head(config))
    return Attention(shard.key_value_heads(key_value_heads(config)), head_dim(config), window=kind.window)


def _layer(config: Config, shard: Shard, kind: _Kind) -> tuple[Module, ...]:
    hidden = need(config, "hidden_size")
    if kind.window is None:
        config = {**config, "head_dim": _full_head(config), "num_key_value_heads": _full_kv_heads(config)}
    width = need(config, "intermediate_size") * (2 if kind.wide else 1)
    return (
        *attention_modules(config, shard, Switches(head_norms="head")),
        *gated_mlp(hidden, shard.divide(width, "intermediate_size")),
        *norms(hidden, 4),
        *_experts(config, shard),
        *_per_layer_input(config),
        Buffer("layer_scalar", 1),
    )


def _experts(config: Config, shard: Shard) -> tuple[Module, ...]:
    count = number(config, "num_experts", default=0)
    if not config.get("enable_moe_block") or not count:
        return ()
    hidden = need(config, "hidden_size")
    width = shard.expert_width(need(config, "moe_intermediate_size", "expert_intermediate_size"))
    return (
        Table("router.proj", count * hidden),
        Table("router.scale", hidden),
        Table("moe.per_expert_scale", count),
        Experts("moe.experts", shard.experts(count), hidden, width),
        *norms(hidden, 3),
    )


def _per_layer_input(config: Config) -> tuple[Module, ...]:
    size = number(config, "hidden_size_per_layer_input", default=0)
    if not size:
        return ()
    hidden = need(config, "hidden_size")
    return (
        Linear("per_layer_input_gate", hidden, (size,)),
        Linear("per_layer_projection", size, (hidden,)),
        *norms(hidden, 1),
    )
