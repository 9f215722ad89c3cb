"""Layers that only speculate: MTP modules of a checkpoint, and EAGLE heads.

They are loaded with the model, and each keeps a KV cache of its own on the last pipeline stage. MTP modules whose shape
is known come from ``architectures.drafts``. The others, and EAGLE heads (vllm/model_executor/models/llama_eagle.py,
llama_eagle3.py), are taken for a projection of hidden state and embedding into the model's width, then decoder layers
like the model's last; embedding and head are shared.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from oomedic.engine.config import EngineConfig
from oomedic.memory.weights import Stage
from oomedic.models.architectures import Layer, Stack, with_draft
from oomedic.models.architectures.stack import Draft as KnownDraft
from oomedic.models.cache_layers import Attention, CrossAttention, State
from oomedic.models.checkpoint import Checkpoint
from oomedic.models.hf_config import number
from oomedic.models.modules import Linear, Shard, Table

_OWN_NAMES: Final = ("qwen3_next", "qwen3_5", "mimo", "nemotron_h")
"""Model types whose MTP weights are named "mtp.layers.…"; in the others they follow the last decoder layer."""


class Draft(NamedTuple):
    """The speculating layers: they stand at ``stage`` of a stack that holds nothing else."""

    stack: Stack
    stage: Stage

    @property
    def layers(self) -> tuple[Layer, ...]:
        """Return the layers."""
        known = tuple(layer for _, layer in self.stack.draft or ())
        return known or self.stack.layers[self.stage.start : self.stage.end]


def draft_of(checkpoint: Checkpoint, config: EngineConfig, stack: Stack, shard: Shard) -> Draft | None:
    """Return the layers that the engine loads to speculate, None where it does not, or with a model of its own."""
    asked = config.value("speculative_config")
    if not isinstance(asked, Mapping):
        return None
    if _predicts(_method(asked)):
        known = with_draft(stack, checkpoint.config, shard).draft
        if known:
            return _known(known, stack, config)
    count = _layers_of(_method(asked), checkpoint)
    like = _layer_like(stack)
    if not count or like is None:
        return None
    hidden = number(checkpoint.text, "hidden_size", default=0)
    inputs = 3 if _method(asked) == "eagle3" else 2
    joined = (Linear("fc", inputs * hidden, (hidden,)), *(Table("norm", hidden),) * 3)
    layer = Layer((*joined, *like.modules), like.cache)
    start = 0 if str(checkpoint.text.get("model_type")).startswith(_OWN_NAMES) else len(stack.layers)
    nothing = (Layer((), ()),) * start
    only = Stack((*nothing, *(layer,) * count), (), (), root="mtp" if start == 0 else stack.root)
    return Draft(only, Stage(start, start + count, is_first=False, is_last=False))


def _known(draft: KnownDraft, stack: Stack, config: EngineConfig) -> Draft:
    alone = config.pipeline_parallel_size > 1
    only = Stack((), stack.first if alone else (), (), root=stack.root, draft=draft)
    return Draft(only, Stage(0, 0, is_first=not alone, is_last=True))


def _predicts(method: str) -> bool:
    return method == "mtp" or method.endswith("_mtp")


def _method(asked: Mapping[str, Any]) -> str:
    """Return the method, which vLLM tells from the draft's name where it is not given."""
    method = str(asked.get("method") or "")
    name = str(asked.get("model") or "").lower()
    return method or next((known for known in ("eagle3", "eagle", "mtp") if known in name), "")


def _layers_of(method: str, checkpoint: Checkpoint) -> int:
    if method in {"eagle", "eagle3"}:
        return 1
    if _predicts(method):
        return number(checkpoint.text, "num_nextn_predict_layers", "mtp_num_hidden_layers", default=1)
    return 0


def _layer_like(stack: Stack) -> Layer | None:
    """Return the last decoder layer that attends to everything, else the last one with a cache of keys and values."""
    growing = [
        layer for layer in stack.layers if layer.cache and not isinstance(layer.cache[0], State | CrossAttention)
    ]
    whole = [layer for layer in growing if not _is_windowed(layer)]
    return next(reversed(whole or growing), None)


def _is_windowed(layer: Layer) -> bool:
    cache = layer.cache[0]
    return isinstance(cache, Attention) and (cache.window is not None or cache.chunk is not None)
