"""Jamba: an attention layer in each period of Mamba layers, experts in every other layer.

Mirrors vllm/model_executor/models/jamba.py; it has no rotary table.
"""

from oomedic.models.architectures.dense import Switches, attention_caches, attention_modules
from oomedic.models.architectures.mixers import Mamba1, Mixer, mamba1
from oomedic.models.architectures.stack import Layer, Stack, embedding, gated_mlp, head, is_tied, norms
from oomedic.models.hf_config import Config, first, layer_count, need, number
from oomedic.models.modules import Experts, Module, Shard, Table, ceil_div


def build(config: Config, shard: Shard) -> Stack:
    """Make the stack of Jamba."""
    hidden = need(config, "hidden_size")
    mixer = _mixer(config, shard)
    cache = attention_caches(config, shard)[0]
    attention = attention_modules(config, shard, Switches())
    dense = gated_mlp(hidden, shard.divide(need(config, "intermediate_size"), "intermediate_size"), "feed_forward")
    sparse = _experts(config, shard)
    common = norms(hidden, 2)
    kinds = {
        (attends, routes): Layer(
            (*(attention if attends else mixer.modules), *(sparse if routes else dense), *common),
            cache if attends else (mixer.state,),
        )
        for attends in (False, True)
        for routes in (False, True)
    }
    return Stack(
        tuple(kinds[_attends(config, index), _routes(config, index)] for index in range(layer_count(config))),
        embedding(config, shard),
        (*norms(hidden, 1), *head(config, shard)),
        tied=is_tied(config),
    )


def _attends(config: Config, index: int) -> bool:
    period, offset = first(config, "attn_layer_period", default=8), first(config, "attn_layer_offset", default=4)
    return bool(index % int(period) == int(offset))


def _routes(config: Config, index: int) -> bool:
    period, offset = first(config, "expert_layer_period", default=2), first(config, "expert_layer_offset", default=1)
    return number(config, "num_experts", default=1) > 1 and bool(index % int(period) == int(offset))


def _mixer(config: Config, shard: Shard) -> Mixer:
    hidden = need(config, "hidden_size")
    rank = first(config, "mamba_dt_rank")
    shape = Mamba1(
        hidden,
        hidden * number(config, "mamba_expand", default=2),
        number(config, "mamba_d_state", default=16),
        rank if isinstance(rank, int) else ceil_div(hidden, 16),
        number(config, "mamba_d_conv", default=4),
        bool(first(config, "mamba_proj_bias", default=False)),
        bool(first(config, "mamba_conv_bias", default=True)),
        inner_norms=True,
    )
    return mamba1(shape, shard, "mamba")


def _experts(config: Config, shard: Shard) -> tuple[Module, ...]:
    hidden, count = need(config, "hidden_size"), number(config, "num_experts", default=1)
    width = shard.expert_width(need(config, "intermediate_size"))
    return (
        Table("feed_forward.router", count * hidden),
        Experts("feed_forward.experts", shard.experts(count), hidden, width),
    )
