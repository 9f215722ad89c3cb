"""Older decoders that people still run: OPT, Falcon, GPT-2, GPT-J, GPT-BigCode, BLOOM, MPT.

Mirrors vllm/model_executor/models/{opt,falcon,gpt2,gpt_j,gpt_bigcode,bloom,mpt}.py: LayerNorms with bias, MLPs
without a gate, learned positions or none.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from oomedic.models.architectures.stack import Layer, Stack, embedding, head, is_tied, norms, plain_mlp, qkv, rotary
from oomedic.models.cache_layers import Attention
from oomedic.models.hf_config import Config, attention_heads, first, layer_count, need, number
from oomedic.models.modules import Linear, Module, Shard, Table


class Shape(NamedTuple):
    """One such decoder: ``positions`` learned rows, ``norms`` per layer, norms at the ends, biases, rotation."""

    hidden: int
    kv_heads: int
    inner: int
    positions: int = 0
    norms: int = 2
    norm_bias: bool = True
    embedding_norm: bool = False
    final_norm: bool = True
    bias: bool = True
    mlp_bias: bool = True
    head_bias: bool = False
    rotates: bool = False
    tied: bool = True
    narrow: int | None = None
    own_dtype: bool = False


def build(config: Config, shard: Shard) -> Stack:
    """Make the stack of an older decoder."""
    shape = CLASSIC[str(config["model_type"])](config)
    heads = attention_heads(config)
    size = shape.hidden // heads
    here = shard.divide(heads, "num_attention_heads")
    own = {**config, "hidden_size": shape.hidden, "head_dim": size}
    modules: tuple[Module, ...] = (
        qkv(own, shard, heads=heads, kv_heads=shape.kv_heads, bias=shape.bias),
        Linear("self_attn.out_proj", here * size, (shape.hidden,), shape.bias),
        *plain_mlp(shape.hidden, shard.divide(shape.inner, "intermediate_size"), bias=shape.mlp_bias),
        *norms(shape.hidden, shape.norms, bias=shape.norm_bias),
    )
    layer = Layer(modules, (Attention(shard.key_value_heads(shape.kv_heads), size, own_dtype=shape.own_dtype),))
    words = {**own, "hidden_size": shape.narrow or shape.hidden}
    projected = (Table("project", shape.narrow * shape.hidden),) if shape.narrow else ()
    return Stack(
        (layer,) * layer_count(config),
        (
            *embedding(words, shard),
            *projected,
            *((Table("embed_positions", shape.positions * shape.hidden),) if shape.positions else ()),
            *norms(shape.hidden, int(shape.embedding_norm), bias=shape.norm_bias),
        ),
        (
            *norms(shape.hidden, int(shape.final_norm), bias=shape.norm_bias),
            *projected,
            *head(words, shard, bias=shape.head_bias),
        ),
        rotary(own, shard) if shape.rotates else (),
        is_tied(config, default=shape.tied),
    )


def _opt(config: Config) -> Shape:
    hidden = need(config, "hidden_size")
    narrow = number(config, "word_embed_proj_dim", default=hidden)
    return Shape(
        hidden,
        attention_heads(config),
        need(config, "ffn_dim"),
        positions=need(config, "max_position_embeddings") + 2,
        final_norm=bool(first(config, "do_layer_norm_before", default=True)),
        bias=bool(first(config, "enable_bias", default=True)),
        mlp_bias=bool(first(config, "enable_bias", default=True)),
        narrow=narrow if narrow != hidden else None,
    )


def _falcon(config: Config) -> Shape:
    hidden, heads = need(config, "hidden_size"), attention_heads(config)
    newer = bool(config.get("new_decoder_architecture"))
    kept = heads
    if newer:
        kept = number(config, "num_kv_heads", default=heads)
    elif first(config, "multi_query", default=True):
        kept = 1
    parallel = bool(first(config, "parallel_attn", default=True))
    two_norms = (first(config, "num_ln_in_parallel_attn", default=2) == 2) if newer else not parallel
    bias = bool(first(config, "bias", default=False))
    inner = number(config, "ffn_hidden_size", "intermediate_size", default=4 * hidden)
    return Shape(
        hidden,
        kept,
        inner,
        norms=2 if two_norms else 1,
        bias=bias,
        mlp_bias=bias,
        rotates=not config.get("alibi"),
        own_dtype=True,
    )


def _gpt(config: Config) -> Shape:
    hidden = need(config, "n_embd", "hidden_size")
    heads = attention_heads(config)
    single = config["model_type"] == "gpt_bigcode" and bool(first(config, "multi_query", default=True))
    inner = number(config, "n_inner", "intermediate_size", default=4 * hidden)
    positions = need(config, "n_positions", "max_position_embeddings")
    return Shape(hidden, 1 if single else heads, inner, positions=positions)


def _gpt_j(config: Config) -> Shape:
    hidden = need(config, "n_embd", "hidden_size")
    inner = number(config, "n_inner", default=4 * hidden)
    return Shape(hidden, attention_heads(config), inner, norms=1, bias=False, head_bias=True, rotates=True, tied=False)


def _bloom(config: Config) -> Shape:
    hidden = need(config, "hidden_size", "n_embed")
    return Shape(hidden, attention_heads(config), 4 * hidden, embedding_norm=True)


def _mpt(config: Config) -> Shape:
    hidden = need(config, "d_model", "hidden_size")
    bias = not config.get("no_bias")
    attention = first(config, "attn_config", default={})
    kept = number(attention, "kv_n_heads", default=attention_heads(config))
    inner = number(config, "expansion_ratio", default=4) * hidden
    return Shape(hidden, kept, inner, norm_bias=bias, bias=bias, mlp_bias=bias)


CLASSIC: Final[Mapping[str, Callable[[Config], Shape]]] = {
    "opt": _opt,
    "falcon": _falcon,
    "gpt2": _gpt,
    "gpt_bigcode": _gpt,
    "gptj": _gpt_j,
    "bloom": _bloom,
    "mpt": _mpt,
}
"""Model types of this family, with how their configs are read."""
