"""Nemotron NAS (DeciLM): a search left each layer its own attention, MLP, a single matrix, or nothing.

Mirrors vllm/model_executor/models/nemotron_nas.py.
"""

from collections.abc import Mapping
from typing import Any

from oomedic.errors import InputError
from oomedic.models.architectures.stack import Layer, Stack, embedding, gated_mlp, head, is_tied, norms, qkv, rotary
from oomedic.models.cache_layers import Attention, CacheLayer
from oomedic.models.hf_config import Config, attention_heads, first, head_dim, need
from oomedic.models.modules import Linear, Module, Shard, round_up

Part = Mapping[str, Any]


def build(config: Config, shard: Shard) -> Stack:
    """Make the stack of a Nemotron NAS model."""
    blocks = config.get("block_configs")
    if not isinstance(blocks, list | tuple):
        raise InputError("config-lacks", key="block_configs", model_type=str(config.get("model_type")))
    known: dict[tuple[Any, ...], Layer] = {}
    layers = []
    for block in blocks:
        attention, feed = first(block, "attention", default={}), first(block, "ffn", default={})
        key = (*map(str, (attention, feed)),)
        if key not in known:
            known[key] = _layer(config, shard, attention, feed)
        layers.append(known[key])
    hidden = need(config, "hidden_size")
    return Stack(
        tuple(layers),
        embedding(config, shard),
        (*norms(hidden, 1), *head(config, shard)),
        rotary(config, shard),
        is_tied(config),
    )


def _layer(config: Config, shard: Shard, attention: Part, feed: Part) -> Layer:
    cache: tuple[CacheLayer, ...] = ()
    modules: tuple[Module, ...] = ()
    hidden = need(config, "hidden_size")
    if not attention.get("no_op"):
        modules = (*_attention(config, shard, attention), *norms(hidden, 1))
        if not attention.get("replace_with_linear"):
            cache = (Attention(shard.key_value_heads(_kv_heads(config, attention)), head_dim(config)),)
    if not feed.get("no_op"):
        modules = (*modules, *_mlp(config, shard, feed), *norms(hidden, 1))
    return Layer(modules, cache)


def _kv_heads(config: Config, attention: Part) -> int:
    return attention_heads(config) // need(attention, "n_heads_in_group")


def _attention(config: Config, shard: Shard, attention: Part) -> tuple[Module, ...]:
    hidden = need(config, "hidden_size")
    if attention.get("replace_with_linear"):
        return (Linear("self_attn.linear_attn", hidden, (hidden,)),)
    heads = attention_heads(config)
    width = shard.divide(heads, "num_attention_heads") * head_dim(config)
    return (
        qkv(config, shard, heads=heads, kv_heads=_kv_heads(config, attention)),
        Linear("self_attn.o_proj", width, (hidden,)),
    )


def _mlp(config: Config, shard: Shard, feed: Part) -> tuple[Module, ...]:
    hidden = need(config, "hidden_size")
    if feed.get("replace_with_linear"):
        return (Linear("mlp.linear_mlp", hidden, (hidden,)),)
    given = first(feed, "intermediate_size")
    width = int(given) if given else round_up(int(2 * float(feed["ffn_mult"]) * hidden / 3), 256)
    return gated_mlp(hidden, shard.divide(width, "intermediate_size"))
