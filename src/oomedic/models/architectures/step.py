"""Step 3.5 and 3.7: windowed layers with their own numbers of heads, a gate per head, a router in float32.

Mirrors vllm/model_executor/models/step3p5.py.
"""

from typing import NamedTuple

from oomedic.models.architectures.mixture import Mixture, dense_layer_indices, expert_modules
from oomedic.models.architectures.stack import Layer, Stack, embedding, gated_mlp, head, is_tied, norms, qkv, rotary
from oomedic.models.architectures.windows import windows
from oomedic.models.cache_layers import Attention
from oomedic.models.hf_config import (
    Config,
    attention_heads,
    first,
    head_dim,
    key_value_heads,
    layer_count,
    need,
    number,
)
from oomedic.models.modules import Linear, Module, Shard, Table

STEP = frozenset({"step3p5", "step3p7"})
"""Model types of this family."""
_MIXTURE = Mixture(router_correction=True, router_dtype="float32", block="moe", shared_name="share_expert")


class _Heads(NamedTuple):
    query: int
    kept: int


def build(config: Config, shard: Shard) -> Stack:
    """Make the stack of the text part of Step 3.5 or 3.7."""
    hidden, seen = need(config, "hidden_size"), windows(config)
    dense_layers = _dense_layers(config)
    width = shard.divide(need(config, "intermediate_size"), "intermediate_size")
    feed = {True: gated_mlp(hidden, width), False: expert_modules(config, shard, _MIXTURE)}
    kinds = {}
    for window in set(seen):
        heads = _heads(config, windowed=window is not None)
        attention = (*_attention(config, shard, heads), *norms(hidden, 2))
        cache = (Attention(shard.key_value_heads(heads.kept), head_dim(config), window=window),)
        for dense in (True, False):
            kinds[window, dense] = Layer((*attention, *feed[dense]), cache)
    return Stack(
        tuple(kinds[window, index in dense_layers] for index, window in enumerate(seen)),
        embedding(config, shard),
        (*norms(hidden, 1), *head(config, shard)),
        rotary(config, shard),
        is_tied(config),
    )


def _dense_layers(config: Config) -> frozenset[int]:
    listed = config.get("moe_layers_enum")
    if isinstance(listed, str) and listed.strip():
        sparse = {int(number) for number in listed.split(",")}
        return frozenset(index for index in range(layer_count(config)) if index not in sparse)
    return dense_layer_indices(config)


def _heads(config: Config, *, windowed: bool) -> _Heads:
    other = first(config, "attention_other_setting", default={}) if windowed else {}
    kept = first(other, "num_attention_groups", default=first(config, "num_attention_groups"))
    return _Heads(
        number(other, "num_attention_heads", default=attention_heads(config)),
        int(kept or key_value_heads(config)),
    )


def _attention(config: Config, shard: Shard, heads: _Heads) -> tuple[Module, ...]:
    hidden, size = need(config, "hidden_size"), head_dim(config)
    here = shard.divide(heads.query, "num_attention_heads")
    gate = (Linear("self_attn.g_proj", hidden, (here,)),) if config.get("use_head_wise_attn_gate") else ()
    return (
        qkv(config, shard, heads=heads.query, kv_heads=heads.kept),
        Linear("self_attn.o_proj", here * size, (hidden,)),
        Table("q_norm", size),
        Table("k_norm", size),
        *gate,
    )
