"""What a model's own multi-token prediction adds: decoder layers after the last, on the last pipeline stage.

Mirrors vllm/model_executor/models/{deepseek,glm4_moe,glm4_moe_lite,mimo,mimo_v2,qwen3_next,qwen3_5,nemotron_h}_mtp.py:
each draft layer joins the embedding of the next token with the hidden state and runs through one more decoder layer.
The embedding and the output projection are those of the model itself (vllm/v1/spec_decode).
"""

from collections.abc import Iterator
from typing import Final

from oomedic.models.architectures.mimo_v2 import draft_layer
from oomedic.models.architectures.stack import Draft, Layer, Stack, head, norms
from oomedic.models.cache_layers import Attention
from oomedic.models.hf_config import Config, first, need, number
from oomedic.models.modules import Experts, Linear, Shard, Table

AFTER_THE_LAST: Final = frozenset(
    {"deepseek_v3", "deepseek_v32", "kimi_k2", "glm_moe_dsa", "glm4_moe", "glm4_moe_lite", "mimo"}
)
"""Model types whose draft layers are numbered on after the last decoder layer and are like it."""

_BESIDE: Final = frozenset({"qwen3_next", "qwen3_5_text", "qwen3_5_moe_text"})
_WINDOWED: Final = frozenset({"mimo_v2_flash", "mimo_v2"})
_SHARED_HEADS: Final = AFTER_THE_LAST - {"mimo"}


def draft_of(stack: Stack, config: Config, shard: Shard) -> Draft | None:
    """Return the draft layers of a text config, None where its model type has none that are known."""
    kind = str(config.get("model_type"))
    if kind in AFTER_THE_LAST:
        return tuple(_after_the_last(stack, config, shard, kind))
    if kind in _BESIDE:
        return tuple(_beside(stack, config, shard))
    if kind in _WINDOWED:
        return tuple(_windowed(config, shard))
    if kind == "nemotron_h":
        return tuple(_by_letters(stack, config, shard))
    return None


def _after_the_last(stack: Stack, config: Config, shard: Shard, kind: str) -> Iterator[tuple[str, Layer]]:
    """Yield layers with a projection that is whole on each rank and three norms beside the layer's own."""
    hidden, count = need(config, "hidden_size"), len(stack.layers)
    like = _like_the_last(stack)
    own_head = kind in _SHARED_HEADS and shard.release.get("draft_heads") == "own"
    for number_ in range(count, count + number(config, "num_nextn_predict_layers", default=1)):
        modules = (Table("eh_proj", 2 * hidden * hidden), *norms(hidden, 3), *(head(config, shard) if own_head else ()))
        yield f"{stack.root}.layers.{number_}", Layer((*like.modules, *modules), like.cache)


def _like_the_last(stack: Stack) -> Layer:
    """Return the last layer, with a sparse indexer of its own where any layer has one."""
    indexed = [layer for layer in stack.layers if any(getattr(cache, "index_size", None) for cache in layer.cache)]
    return (indexed or stack.layers)[-1]


def _beside(stack: Stack, config: Config, shard: Shard) -> Iterator[tuple[str, Layer]]:
    """Yield full-attention layers under a name of their own, with one projection and three norms for them all."""
    hidden = need(config, "hidden_size")
    projection = Linear("fc", 2 * hidden, (shard.divide(hidden, "hidden_size"),), quantized=False)
    yield "mtp", Layer((projection, *norms(hidden, 3)), ())
    like = _attending(stack)
    for index in range(number(config, "mtp_num_hidden_layers", "num_nextn_predict_layers", default=1)):
        yield f"mtp.layers.{index}", Layer((*like.modules,), like.cache)


def _windowed(config: Config, shard: Shard) -> Iterator[tuple[str, Layer]]:
    """Yield MiMo-V2's one layer, of which its config tells nothing."""
    hidden = need(config, "hidden_size")
    like = draft_layer(config, shard)
    modules = (Table("eh_proj", 2 * hidden * hidden), *norms(hidden, 3))
    yield "model.mtp.layers.0", Layer((*like.modules, *modules), like.cache)


def _by_letters(stack: Stack, config: Config, shard: Shard) -> Iterator[tuple[str, Layer]]:
    """Yield the layers that the config names by letters, as Nemotron-H does for all its layers."""
    hidden = need(config, "hidden_size")
    projection = Linear("eh_proj", 2 * hidden, (shard.divide(hidden, "hidden_size"),), quantized=False)
    yield "mtp", Layer((projection, *norms(hidden, 3)), ())
    kinds = {"*": _attending(stack), "E": _with_experts(stack)}
    for index, letter in enumerate(str(first(config, "mtp_hybrid_override_pattern", default="*E"))):
        like = kinds[letter]
        yield f"mtp.layers.{index}", Layer((*like.modules,), like.cache)


def _attending(stack: Stack) -> Layer:
    return next(layer for layer in stack.layers if any(isinstance(cache, Attention) for cache in layer.cache))


def _with_experts(stack: Stack) -> Layer:
    return next(layer for layer in stack.layers if any(isinstance(module, Experts) for module in layer.modules))
