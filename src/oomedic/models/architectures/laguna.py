"""Laguna: more query heads in windowed layers, a gate per head on the attention's output.

Mirrors vllm/model_executor/models/laguna.py.
"""

from collections.abc import Mapping

from oomedic.models.architectures.mixture import Mixture, dense_layer_indices, expert_modules
from oomedic.models.architectures.stack import Layer, Stack, embedding, head, is_tied, norms, qkv, rotary
from oomedic.models.architectures.windows import windows
from oomedic.models.cache_layers import Attention
from oomedic.models.hf_config import Config, attention_heads, head_dim, key_value_heads, layer_count, need
from oomedic.models.modules import Buffer, Linear, Module, Shard, Table


def build(config: Config, shard: Shard) -> Stack:
    """Make the stack of Laguna."""
    count, hidden = layer_count(config), need(config, "hidden_size")
    heads = _heads(config, count)
    dense_layers = dense_layer_indices(config)
    attention = {number: (*_attention(config, shard, number), *norms(hidden, 2)) for number in set(heads)}
    mixture = Mixture(router_correction=True, shared_name="shared_expert", shared_apart=True)
    feed = {True: _dense(config, shard), False: expert_modules(config, shard, mixture)}
    kinds = {(number, dense): (*attention[number], *feed[dense]) for number in set(heads) for dense in (True, False)}
    kept = shard.key_value_heads(key_value_heads(config))
    caches = {window: (Attention(kept, head_dim(config), window=window),) for window in set(windows(config))}
    return Stack(
        tuple(
            Layer(kinds[number, index in dense_layers], caches[window])
            for index, (number, window) in enumerate(zip(heads, windows(config), strict=True))
        ),
        embedding(config, shard),
        (*norms(hidden, 1), *head(config, shard)),
        _rotary(config, shard),
        is_tied(config),
    )


def _heads(config: Config, count: int) -> tuple[int, ...]:
    listed = config.get("num_attention_heads_per_layer")
    if isinstance(listed, list | tuple) and len(listed) >= count:
        return tuple(int(number) for number in listed[:count])
    return (attention_heads(config),) * count


def _attention(config: Config, shard: Shard, heads: int) -> tuple[Module, ...]:
    hidden, size = need(config, "hidden_size"), head_dim(config)
    here = shard.divide(heads, "num_attention_heads")
    gate = (Linear("self_attn.g_proj", hidden, (here,)),) if config.get("gating") else ()
    return (
        qkv(config, shard, heads=heads, kv_heads=key_value_heads(config), bias=bool(config.get("attention_bias"))),
        Linear("self_attn.o_proj", here * size, (hidden,)),
        *gate,
        Table("q_norm", size),
        Table("k_norm", size),
    )


def _dense(config: Config, shard: Shard) -> tuple[Module, ...]:
    hidden, width = need(config, "hidden_size"), shard.divide(need(config, "intermediate_size"), "intermediate_size")
    return (
        Linear("mlp.gate_proj", hidden, (width,)),
        Linear("mlp.up_proj", hidden, (width,)),
        Linear("mlp.down_proj", width, (hidden,)),
    )


def _rotary(config: Config, shard: Shard) -> tuple[Buffer, ...]:
    """Return a table for each kind of layer that the config gives a way of rotating."""
    by_kind = config.get("rope_parameters")
    ways = [value for value in by_kind.values() if isinstance(value, Mapping)] if isinstance(by_kind, Mapping) else []
    own = [{**config, "rope_parameters": way, "partial_rotary_factor": None} for way in ways]
    return tuple(table for one in own for table in rotary(one, shard)) or rotary(config, shard)
