"""The shape of a model on one rank: decoder layers, and what only the first or the last pipeline stage holds."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from oomedic.models.cache_layers import CacheLayer, State
from oomedic.models.hf_config import Config, first, head_dim, need, number, ratio
from oomedic.models.modules import Buffer, Linear, Module, Shard, Table


class Layer(NamedTuple):
    """One decoder layer: its modules, and what it keeps between tokens (nothing: it shares another layer's cache)."""

    modules: tuple[Module, ...]
    cache: tuple[CacheLayer, ...]


Draft = tuple[tuple[str, Layer], ...]
"""Layers that predict further tokens, each with what its names in the checkpoint start with."""


class Stack(NamedTuple):
    """A whole model on one rank.

    ``everywhere`` is on each pipeline stage, such as rotary tables. ``encoder`` are the towers for images, video and
    audio with their projectors, in groups, on the first stage; None: there are some, of a kind that is not known.
    ``root`` is what names in the checkpoint start with. ``fitted_state`` is a state that no layer keeps and to which
    blocks are fitted all the same, because the model's class could. ``draft`` are layers for speculative decoding, on
    the last stage; None: the model's own are not known.
    """

    layers: tuple[Layer, ...]
    first: tuple[Module, ...]
    last: tuple[Module, ...]
    everywhere: tuple[Module, ...] = ()
    tied: bool = False
    encoder: tuple[tuple[Module, ...], ...] | None = ()
    root: str = "model"
    fitted_state: State | None = None
    draft: Draft | None = ()

    def caches(self, start: int, end: int, *, is_last: bool) -> list[CacheLayer]:
        """Return what the layers of a pipeline stage keep, in their order; draft layers are behind the last."""
        drafts = [layer for _, layer in self.draft or ()] if is_last else []
        return [cache for layer in (*self.layers[start:end], *drafts) for cache in layer.cache]


Builder = Callable[[Config, Shard], Stack]
"""Makes the stack of a text config for a shard."""


def qkv(config: Config, shard: Shard, name: str = "self_attn", **sizes: int | bool) -> Linear:
    """Return the fused query, key and value projection (vllm QKVParallelLinear).

    ``sizes`` may give heads, kv_heads, head, value_head, bias and gate (a gate of the output is stored with the query).
    """
    head = int(sizes.get("head") or head_dim(config))
    value = int(sizes.get("value_head") or head)
    query = shard.divide(int(sizes["heads"]), "num_attention_heads") * head
    kept = shard.key_value_heads(int(sizes["kv_heads"]))
    return Linear(
        f"{name}.qkv_proj",
        int(sizes.get("inputs") or need(config, "hidden_size")),
        (query * (2 if sizes.get("gate") else 1), kept * head, kept * value),
        bool(sizes.get("bias")),
        (f"{name}.q_proj", f"{name}.k_proj", f"{name}.v_proj"),
    )


def gated_mlp(hidden: int, width: int, name: str = "mlp", *, bias: bool = False) -> tuple[Module, ...]:
    """Return gate and up, fused, and down; ``width`` is this rank's share."""
    return (
        Linear(f"{name}.gate_up_proj", hidden, (width, width), bias, (f"{name}.gate_proj", f"{name}.up_proj")),
        Linear(f"{name}.down_proj", width, (hidden,), bias, (f"{name}.down_proj",)),
    )


def plain_mlp(hidden: int, width: int, name: str = "mlp", *, bias: bool = False) -> tuple[Module, ...]:
    """Return up and down without a gate."""
    return (
        Linear(f"{name}.up_proj", hidden, (width,), bias, (f"{name}.up_proj",)),
        Linear(f"{name}.down_proj", width, (hidden,), bias, (f"{name}.down_proj",)),
    )


def norms(hidden: int, count: int, *, bias: bool = False) -> tuple[Module, ...]:
    """Return ``count`` normalisation weights, each a tensor of its own."""
    one: tuple[Module, ...] = (Table("norm", hidden), *((Table("norm.bias", hidden),) if bias else ()))
    return one * count


def embedding(config: Config, shard: Shard) -> tuple[Module, ...]:
    """Return the token embedding, padded and split over the vocabulary (vllm VocabParallelEmbedding)."""
    return (Linear("embed_tokens", need(config, "hidden_size"), (_rows(config, shard),)),)


def head(config: Config, shard: Shard, *, bias: bool = False) -> tuple[Module, ...]:
    """Return the output projection (vllm ParallelLMHead); none of its own when it is tied to the embedding."""
    rows = _rows(config, shard)
    matrix = Linear("lm_head", need(config, "hidden_size"), (rows,))
    return (matrix, Table("lm_head.bias", rows)) if bias else (matrix,)


def _rows(config: Config, shard: Shard) -> int:
    return shard.vocabulary(need(config, "vocab_size", "padded_vocab_size"))


def is_tied(config: Config, *, default: bool = False) -> bool:
    """Tell whether the output projection is the embedding itself."""
    return bool(first(config, "tie_word_embeddings", default=default))


def rotary(config: Config, shard: Shard, dim: int | None = None, dtype: str | None = None) -> tuple[Buffer, ...]:
    """Return the rotary cos/sin tables, one for each distinct way of rotating, replicated on every rank.

    Rows x dim in the model's dtype (vllm/model_executor/layers/rotary_embedding): ``max_position_embeddings`` rows,
    with YaRN original length x factor, with longrope a short and a long table.
    """
    size = dim or rotary_size(config)
    tables = [Buffer("rotary", rows * size, dtype) for rows in _rotary_rows(config, shard)]
    if "rope_local_base_freq" in config or config.get("model_type") == "gemma3_text":
        # windowed layers rotate at another pace, over unscaled positions
        tables.append(Buffer("rotary", _positions(config) * size, dtype))
    return tuple(tables)


def rotary_size(config: Config) -> int:
    """Return how many elements of a head are rotated."""
    given = number(config, "rotary_dim", default=0)
    if given:
        return given
    factor = first(
        config, "partial_rotary_factor", "rotary_pct", default=_rope(config).get("partial_rotary_factor", 1.0)
    )
    return round(head_dim(config) * float(factor))


def _rope(config: Config) -> Mapping[str, Any]:
    for key in ("rope_scaling", "rope_parameters"):
        value = config.get(key)
        if isinstance(value, Mapping):
            return value
    return {}


def _positions(config: Config) -> int:
    return number(config, "max_position_embeddings", "n_positions", "seq_length", "max_seq_len", default=0)


def _rotary_rows(config: Config, shard: Shard) -> tuple[int, ...]:
    positions = _positions(config)
    scaling = _rope(config)
    kind = scaling.get("rope_type") or scaling.get("type")
    if "mrope_section" in scaling:
        positions *= int(shard.release.get("mrope_rows", 1))
    if kind in {"yarn", "deepseek_yarn"}:
        original = scaling.get("original_max_position_embeddings") or positions
        return (round(ratio(scaling, "factor", default=1) * original),)
    if kind in {"longrope", "su"}:
        original = number(config, "original_max_position_embeddings", default=positions)
        return (original, positions)
    if kind in {"linear", "dynamic"}:
        return (round(ratio(scaling, "factor", default=1) * positions),)
    return (positions,) if positions else ()
