"""Granite 4 hybrids and Bamba: Mamba-2 layers with a few attention layers; Granite adds experts beside a shared MLP.

Mirrors vllm/model_executor/models/{granitemoehybrid,bamba}.py.
"""

from oomedic.models.architectures.dense import Switches, attention_caches, attention_modules
from oomedic.models.architectures.mixers import Mamba2, Mixer, mamba2
from oomedic.models.architectures.stack import Layer, Stack, embedding, gated_mlp, head, is_tied, norms, rotary
from oomedic.models.hf_config import Config, first, layer_count, need, number
from oomedic.models.modules import Experts, Linear, Module, Shard, Table

GRANITE_HYBRIDS = frozenset({"granitemoehybrid", "bamba"})
"""Model types of this family."""


def build(config: Config, shard: Shard) -> Stack:
    """Make the stack of a Granite hybrid."""
    hidden = need(config, "hidden_size")
    common = (*_feed_forward(config, shard), *norms(hidden, 2))
    cache = attention_caches(config, shard)[0]
    full = Layer((*attention_modules(config, shard, Switches()), *common), cache)
    kinds = _layer_types(config)
    mixer = _mixer(config, shard)
    linear = Layer((*mixer.modules, *common), (mixer.state,))
    granite = config["model_type"] == "granitemoehybrid"
    uses_rope = not granite or config.get("position_embedding_type") == "rope"
    return Stack(
        tuple(linear if kind == "mamba" else full for kind in kinds),
        embedding(config, shard),
        (*norms(hidden, 1), *head(config, shard)),
        rotary(config, shard) if uses_rope else (),
        is_tied(config, default=granite),
        fitted_state=mixer.state if shard.release.get("fits_absent_states") else None,
    )


def _layer_types(config: Config) -> tuple[str, ...]:
    count = layer_count(config)
    listed = first(config, "layer_types", "layers_block_type")
    if isinstance(listed, list | tuple):
        return tuple(listed[:count])
    attends = set(first(config, "attn_layer_indices", default=()))
    return tuple("attention" if index in attends else "mamba" for index in range(count))


def _mixer(config: Config, shard: Shard) -> Mixer:
    hidden, heads = need(config, "hidden_size"), number(config, "mamba_n_heads", default=128)
    size = first(config, "mamba_d_head")
    width = number(config, "mamba_expand", default=2) * hidden
    shape = Mamba2(
        hidden,
        heads,
        size if isinstance(size, int) else width // heads,
        number(config, "mamba_n_groups", default=1),
        number(config, "mamba_d_state", default=256),
        number(config, "mamba_d_conv", default=4),
        bool(first(config, "mamba_proj_bias", default=False)),
        bool(first(config, "mamba_conv_bias", default=True)),
        chunk=first(config, "mamba_chunk_size"),
    )
    return mamba2(shape, shard, "mamba")


def _feed_forward(config: Config, shard: Shard) -> tuple[Module, ...]:
    hidden = need(config, "hidden_size")
    if config["model_type"] == "bamba":
        return gated_mlp(hidden, shard.divide(need(config, "intermediate_size"), "intermediate_size"), "feed_forward")
    modules: list[Module] = []
    count = number(config, "num_local_experts", default=0)
    if count:
        width = shard.expert_width(need(config, "intermediate_size"))
        modules.append(Table("block_sparse_moe.gate", count * hidden))
        modules.append(Experts("block_sparse_moe.experts", shard.experts(count), hidden, width))
    shared = number(config, "shared_intermediate_size", default=0)
    if shared:
        inner = shard.divide(shared, "shared_intermediate_size")
        modules.append(Linear("shared_mlp.input_linear", hidden, (inner, inner), parts=("shared_mlp.input_linear",)))
        modules.append(Linear("shared_mlp.output_linear", inner, (hidden,)))
    return tuple(modules)
