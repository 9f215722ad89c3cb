"""MiniMax M3: attention that chooses blocks of keys by a small index, and experts behind three dense layers.

Mirrors vllm/model_executor/models/minimax_m3.py: the index's projections are fused with query, key and value.
"""

from collections.abc import Mapping
from typing import Any

from oomedic.models.architectures.dense import attention_caches
from oomedic.models.architectures.mixture import Mixture, dense_layer_indices, expert_modules
from oomedic.models.architectures.stack import Layer, Stack, embedding, gated_mlp, head, is_tied, norms, rotary
from oomedic.models.cache_layers import CacheLayer, KeyOnly
from oomedic.models.hf_config import (
    Config,
    attention_heads,
    first,
    head_dim,
    key_value_heads,
    layer_count,
    need,
    number,
)
from oomedic.models.modules import Linear, Module, Shard, Table

MINIMAX_M3 = frozenset({"minimax_m3", "minimax_m3_text", "minimax_m3_vl_text"})
"""Model types of this family."""
_MIXTURE = Mixture(router_correction=True, router_dtype="float32", block="block_sparse_moe")


def build(config: Config, shard: Shard) -> Stack:
    """Make the stack of the text part of MiniMax M3."""
    hidden, count = need(config, "hidden_size"), layer_count(config)
    sparse = first(config, "sparse_attention_config", default={})
    chosen = first(sparse, "sparse_attention_freq", default=(0,) * count)
    dense_layers = dense_layer_indices(config)
    attention = {
        flag: (*_attention(config, sparse if flag else {}, shard), *norms(hidden, 2)) for flag in (True, False)
    }
    width = need(config, "dense_intermediate_size", "intermediate_size")
    feed = {
        True: gated_mlp(hidden, shard.divide(width, "dense_intermediate_size")),
        False: expert_modules({**config, "shared_expert_intermediate_size": _shared(config)}, shard, _MIXTURE),
    }
    cache = attention_caches(config, shard)[0]
    index = KeyOnly(number(sparse, "sparse_index_dim", default=0))
    caches: dict[bool, tuple[CacheLayer, ...]] = {True: (*cache, index), False: cache}
    kinds = {(a, f): Layer((*attention[a], *feed[f]), caches[a]) for a in (True, False) for f in (True, False)}
    return Stack(
        tuple(kinds[bool(flag), index in dense_layers] for index, flag in enumerate(chosen[:count])),
        embedding(config, shard),
        (*norms(hidden, 1), *head(config, shard)),
        rotary(config, shard),
        is_tied(config),
    )


def _shared(config: Config) -> int:
    width = need(config, "shared_intermediate_size", "moe_intermediate_size", "intermediate_size")
    return width * number(config, "n_shared_experts", default=0)


def _attention(config: Config, sparse: Mapping[str, Any], shard: Shard) -> tuple[Module, ...]:
    hidden, size = need(config, "hidden_size"), head_dim(config)
    here = shard.divide(attention_heads(config), "num_attention_heads")
    kept = shard.key_value_heads(key_value_heads(config)) * size
    outputs, parts = [here * size, kept, kept], ["q_proj", "k_proj", "v_proj"]
    extra: tuple[Module, ...] = ()
    if sparse:
        index = need(sparse, "sparse_index_dim")
        outputs += [shard.key_value_heads(need(sparse, "sparse_num_index_heads")) * index, index]
        extra = (Table("index_q_norm", index), Table("index_k_norm", index))
    return (
        Linear("self_attn.qkv_proj", hidden, tuple(outputs), parts=tuple(f"self_attn.{part}" for part in parts)),
        Linear("self_attn.o_proj", here * size, (hidden,)),
        Table("q_norm", size),
        Table("k_norm", size),
        *extra,
    )
