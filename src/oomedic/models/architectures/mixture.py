"""Mixture-of-experts decoders with grouped-query attention: a router, routed experts and perhaps shared ones.

Every expert is loaded, whatever the number of active parameters in a model's name. Mirrors
vllm/model_executor/models/{mixtral,qwen2_moe,qwen3_moe,olmoe,phimoe,granitemoe,glm4_moe,minimax_m2,gpt_oss,…}.py.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from oomedic.models.architectures.dense import Switches, attention_caches, attention_modules, configured
from oomedic.models.architectures.stack import Layer, Stack, embedding, gated_mlp, head, is_tied, norms, rotary
from oomedic.models.hf_config import Config, first, layer_count, need, number
from oomedic.models.modules import Experts, Linear, Module, Shard, Table


class Mixture(NamedTuple):
    """Where one mixture differs: its attention, a correction bias of the router, biases of experts, sinks of heads.

    ``block`` is what the checkpoint calls the part; ``shared_gate`` is a gate on the shared expert, ``shared_apart``
    when its gate and up projections are not fused.
    """

    attention: Switches = Switches()
    router_correction: bool = False
    router_bias: bool = False
    expert_bias: bool = False
    sinks: bool = False
    shared_gate: bool = False
    block: str = "mlp"
    shared_name: str = "shared_experts"
    shared_apart: bool = False
    router_dtype: str | None = None
    correction_dtype: str | None = "float32"
    rotary_dtype: str | None = None


MIXTURES: Final[Mapping[str, Mixture]] = {
    "mixtral": Mixture(block="block_sparse_moe"),
    "granitemoe": Mixture(block="block_sparse_moe"),
    "granitemoeshared": Mixture(block="block_sparse_moe", shared_name="shared_mlp"),
    "dots1": Mixture(Switches(head_norms="head"), router_correction=True, correction_dtype=None),
    "dbrx": Mixture(),
    "deepseek": Mixture(),
    "qwen2_moe": Mixture(Switches(qkv_bias=True), shared_gate=True, shared_name="shared_expert"),
    "qwen3_moe": Mixture(Switches(head_norms="head")),
    "qwen3_vl_moe_text": Mixture(Switches(head_norms="head")),
    "qwen3_omni_moe_text": Mixture(Switches(head_norms="head")),
    "olmoe": Mixture(Switches(head_norms="all")),
    "phimoe": Mixture(Switches(qkv_bias=True, out_bias=True, norm_bias=True, head_bias=True)),
    "glm4_moe": Mixture(router_correction=True, router_dtype="float32"),
    "glm4v_moe_text": Mixture(router_correction=True, router_dtype="float32"),
    "minimax_m2": Mixture(
        Switches(head_norms="each"), router_correction=True, router_dtype="float32", block="block_sparse_moe"
    ),
    "hunyuan_v1_moe": Mixture(Switches(head_norms="head")),
    "hy_v3": Mixture(Switches(head_norms="head"), router_correction=True, router_dtype="float32"),
    "exaone_moe": Mixture(Switches(head_norms="head"), router_correction=True),
    "ernie4_5_moe": Mixture(router_correction=True, router_dtype="float32"),
    "solar_open": Mixture(router_correction=True),
    "cohere2_moe": Mixture(Switches(norms=1)),
    "gpt_oss": Mixture(
        Switches(qkv_bias=True, out_bias=True), router_bias=True, expert_bias=True, sinks=True, rotary_dtype="float32"
    ),
}
"""Model types of this family, with what sets them apart."""


def build(config: Config, shard: Shard) -> Stack:
    """Make the stack of a mixture of experts."""
    mixture = MIXTURES[str(config["model_type"])]
    switches = _attention_switches(config, mixture)
    hidden = need(config, "hidden_size")
    attention = (*attention_modules(config, shard, switches), *_sinks(config, shard, mixture))
    common = (*attention, *norms(hidden, switches.norms, bias=switches.norm_bias))
    sparse = (*common, *expert_modules(config, shard, mixture))
    dense_layers = dense_layer_indices(config)
    dense = (*common, *_dense_mlp(config, shard)) if dense_layers else ()
    caches = attention_caches(config, shard)
    return Stack(
        tuple(Layer(dense if index in dense_layers else sparse, cache) for index, cache in enumerate(caches)),
        embedding(config, shard),
        (*norms(hidden, 1, bias=switches.norm_bias), *head(config, shard, bias=switches.head_bias)),
        rotary(config, shard, dtype=mixture.rotary_dtype),
        is_tied(config),
    )


def expert_modules(config: Config, shard: Shard, mixture: Mixture) -> tuple[Module, ...]:
    """Return router, routed experts and shared experts of a sparse layer."""
    hidden, count = need(config, "hidden_size"), expert_count(config)
    width = need(config, "moe_intermediate_size", "expert_ffn_hidden_size", "intermediate_size")
    modules: list[Module] = [
        Table(f"{mixture.block}.gate", count * hidden, mixture.router_dtype),
        Experts(
            f"{mixture.block}.experts",
            shard.experts(count),
            hidden,
            shard.expert_width(width),
            gated=True,
            bias=mixture.expert_bias,
        ),
    ]
    if mixture.router_correction:
        modules.append(Table(f"{mixture.block}.gate.e_score_correction_bias", count, mixture.correction_dtype))
    if mixture.router_bias:
        modules.append(Table(f"{mixture.block}.router.bias", count))
    shared = shared_expert_width(config, width)
    if shared:
        modules += _shared(hidden, shard.divide(shared, "shared expert width"), mixture)
        if mixture.shared_gate:
            modules.append(Table(f"{mixture.block}.shared_expert_gate", hidden))
    return tuple(modules)


def _shared(hidden: int, width: int, mixture: Mixture) -> tuple[Module, ...]:
    name = f"{mixture.block}.{mixture.shared_name}"
    if not mixture.shared_apart:
        return gated_mlp(hidden, width, name)
    return (
        Linear(f"{name}.gate_proj", hidden, (width,)),
        Linear(f"{name}.up_proj", hidden, (width,)),
        Linear(f"{name}.down_proj", width, (hidden,)),
    )


def expert_count(config: Config) -> int:
    """Return the number of routed experts."""
    return need(config, "n_routed_experts", "num_experts", "num_local_experts", "moe_num_experts")


def shared_expert_width(config: Config, width: int) -> int:
    """Return the width of all shared experts together, 0 when there are none."""
    names = ("shared_expert_intermediate_size", "shared_intermediate_size", "share_expert_dim")
    given = number(config, *names, default=0)
    if given:
        return given
    count = first(
        config, "n_shared_experts", "num_shared_experts", "num_shared_expert", "moe_num_shared_experts", default=0
    )
    return width * int(count[0] if isinstance(count, list | tuple) else count)


def dense_layer_indices(config: Config) -> frozenset[int]:
    """Return the decoder layers that have a dense MLP instead of experts."""
    count = layer_count(config)
    listed = config.get("mlp_layer_types")
    if isinstance(listed, list | tuple):
        return frozenset(index for index, kind in enumerate(listed[:count]) if kind == "dense")
    frequency = config.get("moe_layer_freq")
    if isinstance(frequency, list | tuple):
        return frozenset(index for index, sparse in enumerate(frequency[:count]) if not sparse)
    dense = set(range(number(config, "first_k_dense_replace", "moe_layer_start_index", default=0)))
    dense |= {int(index) for index in config.get("mlp_only_layers") or ()}
    step = number(config, "decoder_sparse_step", default=1)
    dense |= {index for index in range(count) if (index + 1) % step}
    return frozenset(index for index in dense if index < count)


def _attention_switches(config: Config, mixture: Mixture) -> Switches:
    switches = configured(config, mixture.attention)
    if config.get("use_qk_norm") and switches.head_norms == "none":
        return switches._replace(head_norms="head")
    return switches


def _sinks(config: Config, shard: Shard, mixture: Mixture) -> tuple[Module, ...]:
    if not mixture.sinks:
        return ()
    return (Table("self_attn.sinks", shard.divide(need(config, "num_attention_heads"), "num_attention_heads")),)


def _dense_mlp(config: Config, shard: Shard) -> tuple[Module, ...]:
    width = need(config, "dense_intermediate_size", "intermediate_size")
    return gated_mlp(need(config, "hidden_size"), shard.divide(width, "intermediate_size"))
