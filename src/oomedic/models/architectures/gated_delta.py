"""Gated DeltaNet hybrids, Qwen3-Next and Qwen3.5: three of four layers keep a state, not keys and values.

Mirrors vllm/model_executor/models/{qwen3_next,qwen3_5}.py and layers/mamba/gdn: one short convolution over query, key
and value, a recurrent state of value size x key size per value head.
"""

from oomedic.models.architectures.dense import Switches, attention_caches
from oomedic.models.architectures.dense import attention_modules as full_attention
from oomedic.models.architectures.mixture import Mixture, expert_modules
from oomedic.models.architectures.stack import Layer, Stack, embedding, gated_mlp, head, is_tied, norms, rotary
from oomedic.models.cache_layers import State
from oomedic.models.hf_config import Config, first, layer_count, need, number
from oomedic.models.modules import Linear, Module, Shard, Table

GATED_DELTA = frozenset({"qwen3_next", "qwen3_5_text", "qwen3_5_moe_text"})
"""Model types of this family."""


def build(config: Config, shard: Shard) -> Stack:
    """Make the stack of a Gated DeltaNet hybrid."""
    hidden = need(config, "hidden_size")
    common = (*_feed_forward(config, shard), *norms(hidden, 2))
    switches = Switches(head_norms="head", gated_query=bool(first(config, "attn_output_gate", default=True)))
    cache = attention_caches(config, shard)[0]
    full = Layer((*full_attention(config, shard, switches), *common), cache)
    linear = Layer((*_linear_attention(config, shard), *common), (_state(config, shard),))
    return Stack(
        tuple(full if kind == "full_attention" else linear for kind in _layer_types(config)),
        embedding(config, shard),
        (*norms(hidden, 1), *head(config, shard)),
        rotary(config, shard),
        is_tied(config),
    )


def _layer_types(config: Config) -> tuple[str, ...]:
    count = layer_count(config)
    listed = config.get("layer_types")
    if isinstance(listed, list | tuple) and len(listed) >= count:
        return tuple(listed[:count])
    interval = number(config, "full_attention_interval", default=4)
    return tuple("linear_attention" if (index + 1) % interval else "full_attention" for index in range(count))


def _linear_attention(config: Config, shard: Shard) -> tuple[Module, ...]:
    hidden, name = need(config, "hidden_size"), "linear_attn"
    key, value, heads = _sizes(config, shard)
    per_head = need(config, "linear_value_head_dim")
    return (
        Linear(f"{name}.in_proj_qkvz", hidden, (key, key, value, value), parts=_input_parts(config, "qkvz")),
        Linear(f"{name}.in_proj_ba", hidden, (heads, heads), parts=_input_parts(config, "ba")),
        Table(f"{name}.conv1d", (2 * key + value) * need(config, "linear_conv_kernel_dim")),
        Table(f"{name}.dt_bias", heads),
        Table(f"{name}.A_log", heads, shard.dtype("gated_delta_decay_dtype", "float32")),
        Table(f"{name}.norm", per_head),
        Linear(f"{name}.out_proj", value, (hidden,), parts=(f"{name}.out_proj",)),
    )


def _input_parts(config: Config, letters: str) -> tuple[str, ...]:
    """Return the checkpoint's names: Qwen3-Next stores the inputs fused, later models apart."""
    if config["model_type"] == "qwen3_next":
        return (f"linear_attn.in_proj_{letters}",)
    apart = ("qkv", "z") if letters == "qkvz" else ("b", "a")
    return tuple(f"linear_attn.in_proj_{part}" for part in apart)


def _sizes(config: Config, shard: Shard) -> tuple[int, int, int]:
    """Return this rank's key width, value width and number of value heads."""
    keys = shard.divide(need(config, "linear_num_key_heads"), "linear_num_key_heads")
    values = shard.divide(need(config, "linear_num_value_heads"), "linear_num_value_heads")
    return keys * need(config, "linear_key_head_dim"), values * need(config, "linear_value_head_dim"), values


def _state(config: Config, shard: Shard) -> State:
    key, value, _ = _sizes(config, shard)
    return State(
        "gdn_attention",
        (need(config, "linear_conv_kernel_dim") - 1) * (2 * key + value),
        value * need(config, "linear_key_head_dim"),
        first(config, "mamba_ssm_dtype"),
        conv_row=2 * key + value,
    )


def _feed_forward(config: Config, shard: Shard) -> tuple[Module, ...]:
    if config.get("num_experts"):
        return expert_modules(config, shard, Mixture(shared_gate=True, shared_name="shared_expert"))
    width = shard.divide(need(config, "intermediate_size"), "intermediate_size")
    return gated_mlp(need(config, "hidden_size"), width)
