"""LFM2: gated short convolutions with some attention layers between them, dense or with experts.

Mirrors vllm/model_executor/models/{lfm2,lfm2_moe}.py.
"""

from oomedic.models.architectures.dense import Switches, attention_caches, attention_modules
from oomedic.models.architectures.mixers import short_convolution
from oomedic.models.architectures.stack import Layer, Stack, embedding, gated_mlp, head, is_tied, norms, rotary
from oomedic.models.hf_config import Config, first, layer_count, need, number
from oomedic.models.modules import Experts, Module, Shard, Table, round_up

LFM2 = frozenset({"lfm2", "lfm2_moe"})
"""Model types of this family."""


def build(config: Config, shard: Shard) -> Stack:
    """Make the stack of LFM2."""
    hidden, count = need(config, "hidden_size"), layer_count(config)
    bias = bool(first(config, "conv_bias", default=False))
    mixer = short_convolution(hidden, number(config, "conv_L_cache", default=3), shard, "conv", bias=bias)
    attention = attention_modules(config, shard, Switches(head_norms="head"))
    dense_layers = number(config, "num_dense_layers", default=0) if config["model_type"] == "lfm2_moe" else count
    feed = {True: _dense(config, shard), False: _experts(config, shard) if dense_layers < count else ()}
    cache = attention_caches(config, shard)[0]
    kinds = {
        (full, dense): Layer(
            (*(attention if full else mixer.modules), *feed[dense], *norms(hidden, 2)),
            cache if full else (mixer.state,),
        )
        for full in (True, False)
        for dense in (True, False)
    }
    return Stack(
        tuple(kinds[full, index < dense_layers] for index, full in enumerate(_attends(config, count))),
        embedding(config, shard),
        (*norms(hidden, 1), *head(config, shard)),
        rotary(config, shard),
        is_tied(config, default=True),
    )


def _attends(config: Config, count: int) -> tuple[bool, ...]:
    listed = config.get("layer_types")
    if isinstance(listed, list | tuple):
        return tuple(kind == "full_attention" for kind in listed[:count])
    full = set(first(config, "full_attn_idxs", default=range(count)))
    return tuple(index in full for index in range(count))


def _dense(config: Config, shard: Shard) -> tuple[Module, ...]:
    width = need(config, "intermediate_size", "block_ff_dim")
    if first(config, "block_auto_adjust_ff_dim", default=False):
        width = int(2 * width / 3)
        multiplier = first(config, "block_ffn_dim_multiplier")
        if multiplier is not None:
            width = round_up(int(float(multiplier) * width), need(config, "block_multiple_of"))
    return gated_mlp(need(config, "hidden_size"), shard.divide(width, "intermediate_size"), "feed_forward")


def _experts(config: Config, shard: Shard) -> tuple[Module, ...]:
    hidden, count = need(config, "hidden_size"), need(config, "num_experts")
    return (
        Table("feed_forward.gate", count * hidden),
        Table("feed_forward.gate.e_score_correction_bias", count, "float32"),
        Experts(
            "feed_forward.experts",
            shard.experts(count),
            hidden,
            shard.expert_width(need(config, "moe_intermediate_size")),
        ),
    )
