"""Llama 4: experts in every layer or every other one, chunked local attention in three of four layers.

Mirrors vllm/model_executor/models/llama4.py. Its rotary table has a row for each of up to 10,485,760 positions, on
every
rank: 2.5 GiB for Scout.
"""

from oomedic.models.architectures.dense import Switches
from oomedic.models.architectures.dense import attention_modules as dense_attention
from oomedic.models.architectures.stack import Layer, Stack, embedding, gated_mlp, head, is_tied, norms, rotary
from oomedic.models.cache_layers import Attention
from oomedic.models.hf_config import Config, head_dim, key_value_heads, layer_count, need, number
from oomedic.models.modules import Experts, Module, Shard, Table


def build(config: Config, shard: Shard) -> Stack:
    """Make the stack of the text part of Llama 4."""
    hidden = need(config, "hidden_size")
    attention = (*dense_attention(config, shard, Switches()), *norms(hidden, 2))
    sparse = (*attention, *_experts(config, shard))
    width = need(config, "intermediate_size_mlp", "intermediate_size")
    dense = (*attention, *gated_mlp(hidden, shard.divide(width, "intermediate_size_mlp"), "feed_forward"))
    step = number(config, "interleave_moe_layer_step", default=1)
    return Stack(
        tuple(
            Layer(sparse if step and (index + 1) % step == 0 else dense, (_cache(config, shard, index),))
            for index in range(layer_count(config))
        ),
        embedding(config, shard),
        (*norms(hidden, 1), *head(config, shard)),
        rotary(config, shard),
        is_tied(config),
    )


def _experts(config: Config, shard: Shard) -> tuple[Module, ...]:
    hidden, width, count = (
        need(config, "hidden_size"),
        need(config, "intermediate_size"),
        need(config, "num_local_experts"),
    )
    return (
        Table("feed_forward.router", count * hidden),
        Experts("feed_forward.experts", shard.experts(count), hidden, shard.expert_width(width)),
        *gated_mlp(hidden, shard.divide(width, "intermediate_size"), "feed_forward.shared_expert"),
    )


def _cache(config: Config, shard: Shard, index: int) -> Attention:
    ropeless = config.get("no_rope_layers")
    interval = number(config, "no_rope_layer_interval", default=4)
    uses_rope = bool(ropeless[index]) if ropeless else (index + 1) % interval != 0
    chunk = number(config, "attention_chunk_size", default=0) if uses_rope else 0
    return Attention(shard.key_value_heads(key_value_heads(config)), head_dim(config), chunk=chunk or None)
