"""MiniMax-Text-01 and M1: lightning attention with a state per head, full attention in every eighth layer, experts.

Mirrors vllm/model_executor/models/minimax_text_01.py: router and output projection stay float32.
"""

from oomedic.models.architectures.dense import Switches, attention_caches, attention_modules
from oomedic.models.architectures.stack import Layer, Stack, embedding, is_tied, norms, rotary
from oomedic.models.cache_layers import State
from oomedic.models.hf_config import Config, attention_heads, first, head_dim, layer_count, need
from oomedic.models.modules import Experts, Linear, Module, Shard, Table

MINIMAX_01 = frozenset({"minimax", "minimax_text_01", "minimax_m1"})
"""Model types of this family."""


def build(config: Config, shard: Shard) -> Stack:
    """Make the stack of MiniMax-Text-01."""
    hidden = need(config, "hidden_size")
    common = (*_experts(config, shard), *norms(hidden, 2))
    full = Layer((*attention_modules(config, shard, Switches()), *common), attention_caches(config, shard)[0])
    linear = Layer((*_lightning(config, shard), *common), (_state(config, shard),))
    rows = shard.vocabulary(need(config, "vocab_size"))
    return Stack(
        tuple(full if attends else linear for attends in _attends(config)),
        embedding(config, shard),
        (*norms(hidden, 1), Table("lm_head", rows * hidden, "float32")),
        rotary(config, shard),
        is_tied(config),
    )


def _attends(config: Config) -> tuple[bool, ...]:
    count = layer_count(config)
    kinds = config.get("attn_type_list")
    if isinstance(kinds, list | tuple):
        return tuple(kind == 1 for kind in kinds[:count])
    types = first(config, "layer_types", default=())
    return tuple(kind == "full_attention" for kind in types[:count]) or (True,) * count


def _lightning(config: Config, shard: Shard) -> tuple[Module, ...]:
    hidden = need(config, "hidden_size")
    width = shard.divide(attention_heads(config), "num_attention_heads") * head_dim(config)
    return (
        Linear("self_attn.qkv_proj", hidden, (width, width, width), parts=("self_attn.qkv_proj",)),
        Linear("self_attn.output_gate", hidden, (width,)),
        Linear("self_attn.out_proj", width, (hidden,)),
        Table("self_attn.norm", width),
    )


def _state(config: Config, shard: Shard) -> State:
    heads, size = shard.divide(attention_heads(config), "num_attention_heads"), head_dim(config)
    return State("linear_attention", 0, heads * size * size)


def _experts(config: Config, shard: Shard) -> tuple[Module, ...]:
    hidden, count = need(config, "hidden_size"), need(config, "num_local_experts")
    width = shard.expert_width(need(config, "intermediate_size"))
    return (
        Table("block_sparse_moe.gate", count * hidden, "float32"),
        Experts("block_sparse_moe.experts", shard.experts(count), hidden, width),
    )
