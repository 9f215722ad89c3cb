"""MiMo-V2: windowed and full layers with their own numbers of heads, values narrower than keys, sinks in some.

Mirrors vllm/model_executor/models/mimo_v2_flash.py.
"""

from oomedic.models.architectures.mixture import Mixture, dense_layer_indices, expert_modules
from oomedic.models.architectures.stack import Layer, Stack, embedding, gated_mlp, head, is_tied, norms, qkv, rotary
from oomedic.models.cache_layers import Attention
from oomedic.models.hf_config import Config, first, head_dim, key_value_heads, layer_count, need, number
from oomedic.models.modules import Linear, Module, Shard, Table

MIMO_V2 = frozenset({"mimo_v2_flash", "mimo_v2"})
"""Model types of this family."""


def build(config: Config, shard: Shard) -> Stack:
    """Make the stack of MiMo-V2."""
    count, hidden = layer_count(config), need(config, "hidden_size")
    pattern = first(config, "hybrid_layer_pattern", default=(0,) * count)
    windowed = [bool(kind) for kind in pattern[:count]]
    dense_layers = dense_layer_indices(config)
    attention = {flag: (*_attention(config, shard, windowed=flag), *norms(hidden, 2)) for flag in set(windowed)}
    width = shard.divide(need(config, "intermediate_size"), "intermediate_size")
    mixture = Mixture(router_correction=True, router_dtype="float32")
    feed = {True: gated_mlp(hidden, width), False: expert_modules(config, shard, mixture)}
    kinds = {(flag, dense): (*attention[flag], *feed[dense]) for flag in set(windowed) for dense in (True, False)}
    caches = {flag: (_cache(config, shard, windowed=flag),) for flag in set(windowed)}
    return Stack(
        tuple(Layer(kinds[flag, index in dense_layers], caches[flag]) for index, flag in enumerate(windowed)),
        embedding(config, shard),
        (*norms(hidden, 1), *head(config, shard)),
        rotary(config, shard) * len(set(windowed)),
        is_tied(config),
    )


def draft_layer(config: Config, shard: Shard) -> Layer:
    """Return a layer of its multi-token prediction: a window, a dense MLP, and an output that stays unquantised."""
    hidden = need(config, "hidden_size")
    width = shard.divide(need(config, "intermediate_size"), "intermediate_size")
    attention = (
        module._replace(quantized=False) if module.name == "self_attn.o_proj" and isinstance(module, Linear) else module
        for module in _attention(config, shard, windowed=True)
    )
    modules = (*attention, *norms(hidden, 2), *gated_mlp(hidden, width))
    return Layer(modules, (_cache(config, shard, windowed=True),))


def _sizes(config: Config, *, windowed: bool) -> tuple[int, int, int, int]:
    """Return heads, KV heads, key size and value size."""
    prefix = "swa_" if windowed else ""
    heads = need(config, f"{prefix}num_attention_heads", "num_attention_heads")
    kept = number(config, f"{prefix}num_key_value_heads", default=key_value_heads(config))
    size = number(config, f"{prefix}head_dim", default=head_dim(config))
    return heads, kept, size, number(config, f"{prefix}v_head_dim", "v_head_dim", default=size)


def _attention(config: Config, shard: Shard, *, windowed: bool) -> tuple[Module, ...]:
    heads, kept, size, value = _sizes(config, windowed=windowed)
    here = shard.divide(heads, "num_attention_heads")
    sinks = config.get("add_swa_attention_sink_bias" if windowed else "add_full_attention_sink_bias")
    bias = bool(config.get("attention_bias"))
    return (
        qkv(config, shard, heads=heads, kv_heads=kept, head=size, value_head=value, bias=bias),
        Linear("self_attn.o_proj", here * value, (need(config, "hidden_size"),)),
        *((Table("self_attn.attention_sink_bias", here),) if sinks else ()),
    )


def _cache(config: Config, shard: Shard, *, windowed: bool) -> Attention:
    _, kept, size, value = _sizes(config, windowed=windowed)
    window = number(config, "sliding_window", "sliding_window_size", default=0) if windowed else None
    return Attention(
        shard.key_value_heads(kept), size, value if value != size else None, window or None, own_dtype=True
    )
