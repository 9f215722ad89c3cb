"""Encoders that turn text into vectors: BERT, RoBERTa and XLM-RoBERTa, Nomic BERT, ModernBERT. They keep no cache.

Mirrors vllm/model_executor/models/{bert,roberta,bert_with_rope,modernbert}.py.
"""

from oomedic.models.architectures.stack import Layer, Stack, embedding, gated_mlp, norms, plain_mlp, qkv, rotary
from oomedic.models.hf_config import Config, attention_heads, layer_count, need, number
from oomedic.models.modules import Linear, Module, Shard, Table

BERTS = frozenset({"bert", "roberta", "xlm-roberta", "nomic_bert", "modernbert"})
"""Model types of this family."""
_ROTATING = frozenset({"nomic_bert", "modernbert"})


def build(config: Config, shard: Shard) -> Stack:
    """Make the stack of an encoder."""
    hidden = need(config, "hidden_size", "n_embd")
    own = {**config, "hidden_size": hidden}
    kind = str(config["model_type"])
    plain = kind not in _ROTATING
    heads = attention_heads(config)
    here = shard.divide(heads, "num_attention_heads")
    width = shard.divide(need(config, "intermediate_size", "n_inner"), "intermediate_size")
    mlp = plain_mlp(hidden, width, bias=True) if plain else gated_mlp(hidden, width)
    norm_bias = kind != "modernbert"
    modules: tuple[Module, ...] = (
        qkv(own, shard, heads=heads, kv_heads=heads, bias=plain),
        Linear("attention.output.dense", here * (hidden // heads), (hidden,), plain),
        *mlp,
        *norms(hidden, 2, bias=norm_bias),
    )
    return Stack(
        (Layer(modules, ()),) * layer_count(config),
        (*embedding(own, shard), *_positions(own, shard), *_types(own, shard), *norms(hidden, 1, bias=norm_bias)),
        norms(hidden, 1, bias=False) if kind == "modernbert" else (),
        () if plain else rotary(own, shard),
    )


def _positions(config: Config, shard: Shard) -> tuple[Module, ...]:
    if config["model_type"] in _ROTATING:
        return ()
    rows, hidden = need(config, "max_position_embeddings"), need(config, "hidden_size")
    # BERT's positions are split like a vocabulary, RoBERTa's are whole
    return (
        Table("position_embeddings", (shard.vocabulary(rows) if config["model_type"] == "bert" else rows) * hidden),
    )


def _types(config: Config, shard: Shard) -> tuple[Module, ...]:
    kind = config["model_type"]
    rows = number(config, "type_vocab_size", default=0 if kind == "modernbert" else 2)
    if not rows:
        return ()
    held = rows if kind in {"roberta", "xlm-roberta"} else shard.vocabulary(rows)
    return (Table("token_type_embeddings", held * need(config, "hidden_size")),)
