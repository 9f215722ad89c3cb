"""Llama 3.2 Vision: some decoder layers attend to the image instead of the text.

Mirrors vllm/model_executor/models/mllama.py, which was served until 0.10 by engine V0 only.
"""

from oomedic.models.architectures.dense import Switches, attention_caches, attention_modules
from oomedic.models.architectures.stack import Layer, Stack, embedding, gated_mlp, head, is_tied, norms, rotary
from oomedic.models.cache_layers import CrossAttention
from oomedic.models.hf_config import Config, attention_heads, first, head_dim, key_value_heads, layer_count, need
from oomedic.models.modules import Linear, Module, Shard, Table

IMAGE_TOKENS = 6404
"""Positions of one image of four tiles: 4 x (1600 patches + 1)."""
_EXTRA_ROWS = 8


def build(config: Config, shard: Shard) -> Stack:
    """Make the stack of the text part of Llama 3.2 Vision."""
    hidden = need(config, "hidden_size")
    mlp = gated_mlp(hidden, shard.divide(need(config, "intermediate_size"), "intermediate_size"))
    crossing = set(first(config, "cross_attention_layers", default=()))
    cache = attention_caches(config, shard)[0]
    own = Layer((*attention_modules(config, shard, Switches()), *mlp, *norms(hidden, 2)), cache)
    kept, size = shard.key_value_heads(key_value_heads(config)), head_dim(config)
    cross = Layer(
        (*_cross_attention(config, shard), *mlp, *norms(hidden, 2)), (CrossAttention(kept, size, IMAGE_TOKENS),)
    )
    words = {**config, "vocab_size": need(config, "vocab_size") + _EXTRA_ROWS}
    return Stack(
        tuple(cross if index in crossing else own for index in range(layer_count(config))),
        embedding(words, shard),
        (*norms(hidden, 1), *head(config, shard)),
        rotary(config, shard),
        is_tied(config),
    )


def _cross_attention(config: Config, shard: Shard) -> tuple[Module, ...]:
    hidden, size = need(config, "hidden_size"), head_dim(config)
    query = shard.divide(attention_heads(config), "num_attention_heads") * size
    kept = shard.key_value_heads(key_value_heads(config)) * size
    return (
        Linear("cross_attn.q_proj", hidden, (query,)),
        Linear("cross_attn.kv_proj", hidden, (kept, kept), parts=("cross_attn.k_proj", "cross_attn.v_proj")),
        Linear("cross_attn.o_proj", query, (hidden,)),
        Table("q_norm", size),
        Table("k_norm", size),
        Table("gates", 2),
    )
