"""Kimi Linear and Kimi K3: delta attention with a gate per channel (KDA), latent attention in every fourth layer.

Mirrors vllm/model_executor/models/kimi_linear.py, later vllm/models/kimi_k3; latent layers have no rotary embedding.
"""

from collections.abc import Mapping
from typing import Any

from oomedic.errors import InputError
from oomedic.models.architectures.latent import attention_modules as latent_attention
from oomedic.models.architectures.latent import latent
from oomedic.models.architectures.stack import Layer, Stack, embedding, gated_mlp, head, is_tied, norms
from oomedic.models.cache_layers import CacheLayer, State
from oomedic.models.hf_config import Config, attention_heads, first, layer_count, need, number
from oomedic.models.modules import Experts, Linear, Module, Shard, Table


def build(config: Config, shard: Shard) -> Stack:
    """Make the stack of Kimi Linear or the text part of Kimi K3."""
    hidden = need(config, "hidden_size")
    linear = _linear_config(config)
    full = {int(number) - 1 for number in first(linear, "full_attn_layers", default=())}
    dense_layers = number(config, "first_k_dense_replace", default=0)
    attention = {
        True: (*latent_attention(config, shard), *_output_gate(config, shard), *norms(hidden, 2)),
        False: (*_delta_attention(config, linear, shard), *norms(hidden, 2)),
    }
    feed = {True: _dense(config, shard), False: _experts(config, shard)}
    caches: dict[bool, tuple[CacheLayer, ...]] = {True: (latent(config, shard),), False: (_state(linear, shard),)}
    kinds = {(a, f): Layer((*attention[a], *feed[f]), caches[a]) for a in (True, False) for f in (True, False)}
    return Stack(
        tuple(kinds[index in full, index < dense_layers] for index in range(layer_count(config))),
        embedding(config, shard),
        (*norms(hidden, 1), *head(config, shard)),
        tied=is_tied(config),
    )


def _linear_config(config: Config) -> Mapping[str, Any]:
    found = config.get("linear_attn_config")
    if not isinstance(found, Mapping):
        raise InputError("config-lacks", key="linear_attn_config", model_type=str(config.get("model_type")))
    return found


def _output_gate(config: Config, shard: Shard) -> tuple[Module, ...]:
    if not config.get("mla_use_output_gate"):
        return ()
    width = shard.divide(attention_heads(config), "num_attention_heads") * need(config, "v_head_dim")
    return (Linear("self_attn.g_proj", need(config, "hidden_size"), (width,)),)


def _delta_attention(config: Config, linear: Mapping[str, Any], shard: Shard) -> tuple[Module, ...]:
    hidden, size = need(config, "hidden_size"), need(linear, "head_dim")
    heads = shard.divide(need(linear, "num_heads"), "linear_attn_config.num_heads")
    width = heads * size
    name = "self_attn"
    if first(linear, "use_full_rank_gate", default=False):
        gate: tuple[Module, ...] = (Linear(f"{name}.g_proj", hidden, (width,)),)
    else:
        gate = (Linear(f"{name}.g_a_proj", hidden, (size,)), Linear(f"{name}.g_b_proj", size, (width,)))
    return (
        Linear(
            f"{name}.in_proj",
            hidden,
            (width, width, width, size, heads),
            parts=tuple(f"{name}.{part}_proj" for part in ("q", "k", "v", "f_a", "b")),
        ),
        Linear(f"{name}.f_b_proj", size, (width,)),
        *gate,
        Table(f"{name}.conv1d", 3 * width * need(linear, "short_conv_kernel_size"), "float32"),
        Table(f"{name}.dt_bias", width, "float32"),
        Table(f"{name}.A_log", heads, "float32"),
        Table(f"{name}.o_norm", size),
        Linear(f"{name}.o_proj", width, (hidden,)),
    )


def _state(linear: Mapping[str, Any], shard: Shard) -> State:
    heads, size = shard.divide(need(linear, "num_heads"), "linear_attn_config.num_heads"), need(linear, "head_dim")
    width = heads * size
    kept = need(linear, "short_conv_kernel_size") - 1
    return State("kda", 3 * kept * width, width * size, "float32", conv_row=3 * width)


def _dense(config: Config, shard: Shard) -> tuple[Module, ...]:
    return gated_mlp(need(config, "hidden_size"), shard.divide(need(config, "intermediate_size"), "intermediate_size"))


def _experts(config: Config, shard: Shard) -> tuple[Module, ...]:
    hidden, count, width = (
        need(config, "hidden_size"),
        need(config, "num_experts"),
        need(config, "moe_intermediate_size"),
    )
    narrow = first(config, "routed_expert_hidden_size")
    shared = width * number(config, "num_shared_experts", default=0)
    name = "block_sparse_moe"
    modules: list[Module] = [
        Table(f"{name}.gate", count * hidden),
        Table(f"{name}.gate.e_score_correction_bias", count, "float32"),
        Experts(f"{name}.experts", shard.experts(count), int(narrow or hidden), shard.expert_width(width)),
    ]
    if shared:
        modules += gated_mlp(hidden, shard.divide(shared, "shared expert width"), f"{name}.shared_experts")
    if narrow:
        modules += [Table(f"{name}.latent", 2 * hidden * int(narrow))]
        if config.get("latent_moe_use_norm"):
            modules.append(Table(f"{name}.latent_norm", int(narrow)))
    return tuple(modules)
