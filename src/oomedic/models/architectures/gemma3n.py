"""Gemma 3n: embeddings for each layer, several predictions of the hidden state (AltUp), low-rank residuals (Laurel).

Mirrors vllm/model_executor/models/gemma3n.py; the last layers use the cache of earlier ones.
"""

from oomedic.models.architectures.dense import Switches, attention_caches, attention_modules
from oomedic.models.architectures.stack import Layer, Stack, embedding, gated_mlp, head, norms, rotary
from oomedic.models.hf_config import Config, layer_count, need, number
from oomedic.models.modules import Linear, Module, Shard, Table


def build(config: Config, shard: Shard) -> Stack:
    """Make the stack of the text part of Gemma 3n."""
    hidden = need(config, "hidden_size")
    shared = number(config, "num_kv_shared_layers", default=0)
    count = layer_count(config)
    attention = (*attention_modules(config, shard, Switches(head_norms="head")), *_beside_attention(config, shard))
    widths = _widths(config, count)
    kinds = {width: (*attention, *_mlp(config, shard, width)) for width in set(widths)}
    caches = attention_caches(config, shard)
    return Stack(
        tuple(
            Layer(kinds[width], cache if index < count - shared else ())
            for index, (width, cache) in enumerate(zip(widths, caches, strict=True))
        ),
        (*embedding(config, shard), *_per_layer(config, shard)),
        (*_alternatives(config, shard), *norms(hidden, 1), *head(config, shard)),
        rotary(config, shard),
        tied=True,
    )


def per_layer_embedding(config: Config, shard: Shard) -> tuple[Module, ...]:
    """Return the second embedding, with ``hidden_size_per_layer_input`` values for every layer, and its projection."""
    size = number(config, "hidden_size_per_layer_input", default=0)
    if not size:
        return ()
    all_layers = size * layer_count(config)
    rows = shard.vocabulary(need(config, "vocab_size_per_layer_input", "vocab_size"))
    projected = shard.divide(all_layers, "per-layer embedding")
    return (
        Table("embed_tokens_per_layer", rows * all_layers),
        Linear("per_layer_model_projection", need(config, "hidden_size"), (projected,)),
        Table("per_layer_projection_norm", size),
    )


def _widths(config: Config, count: int) -> tuple[int, ...]:
    width = config.get("intermediate_size")
    if isinstance(width, list | tuple) and len(width) >= count:
        return tuple(int(one) for one in width[:count])
    return (need(config, "intermediate_size"),) * count


def _per_layer(config: Config, shard: Shard) -> tuple[Module, ...]:
    hidden, inputs = need(config, "hidden_size"), need(config, "altup_num_inputs")
    split = shard.divide(hidden, "hidden_size")
    projections = (Linear("altup_projections", hidden, (split,)),) * (inputs - 1)
    return (*per_layer_embedding(config, shard), *projections)


def _alternatives(config: Config, shard: Shard) -> tuple[Module, ...]:
    hidden, inputs = need(config, "hidden_size"), need(config, "altup_num_inputs")
    split = shard.divide(hidden, "hidden_size")
    return (Linear("altup_unembed_projections", hidden, (split,)),) * (inputs - 1)


def _beside_attention(config: Config, shard: Shard) -> tuple[Module, ...]:
    hidden, size = need(config, "hidden_size"), need(config, "hidden_size_per_layer_input")
    inputs, rank = need(config, "altup_num_inputs"), shard.divide(need(config, "laurel_rank"), "laurel_rank")
    return (
        Table("altup.correct_output_scale", hidden, "float32"),
        Table("altup.coefs", inputs * inputs + inputs**3),
        Table("altup.modality_router", inputs * hidden),
        Linear("laurel.linear_left", hidden, (rank,)),
        Linear("laurel.linear_right", rank, (hidden,)),
        Linear("per_layer_input_gate", hidden, (size,)),
        Linear("per_layer_projection", size, (hidden,)),
        *norms(hidden, 7),
    )


def _mlp(config: Config, shard: Shard, width: int) -> tuple[Module, ...]:
    return gated_mlp(need(config, "hidden_size"), shard.divide(width, "intermediate_size"))
