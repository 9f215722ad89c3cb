"""What stays on a GPU after loading beside the model's own weights: LoRA slots, copies for MLA, buffers for images.

"Model loading took X GiB" counts them too.
"""

from collections.abc import Iterable
from typing import Final

from oomedic.engine.config import EngineConfig
from oomedic.memory.allocator import counted
from oomedic.memory.encoder_items import drops_towers
from oomedic.memory.weights import Stage
from oomedic.models.architectures import Stack
from oomedic.models.checkpoint import Checkpoint
from oomedic.models.hf_config import Config, need, nested, number
from oomedic.models.modules import Experts, Linear, Module
from oomedic.models.quantization import Scheme
from oomedic.units import Bytes

_LORA_DTYPE_BYTES: Final = 2
_DEFAULT_RANK: Final = 16


def beside_weights(checkpoint: Checkpoint, config: EngineConfig, stack: Stack, scheme: Scheme, stage: Stage) -> Bytes:
    """Return the bytes on one rank of a stage."""
    held = _lora_slots(config, stack, stage) + _latent_copies(checkpoint, config, scheme, stage)
    if not stage.is_first:
        return held
    return held + _deepstack(checkpoint, config, scheme) + _layer_inputs(checkpoint, config, scheme)


def _lora_slots(config: EngineConfig, stack: Stack, stage: Stage) -> Bytes:
    """Return what max_loras adapters of max_lora_rank take (vllm/lora/layers): A and B beside each matrix.

    A of a fused matrix is kept once for each part. Slots are zeroed tensors that exist without any adapter. V0 before
    0.8 made them after it had measured its weights (vllm/worker/model_runner.py load_model).
    """
    if not config.flag("enable_lora") or not config.rules.weights.get("lora_counted"):
        return 0
    slots = max(1, config.integer("max_loras"))
    width = (config.integer("max_lora_rank") or _DEFAULT_RANK) * slots * _LORA_DTYPE_BYTES
    experts = bool(config.rules.weights.get("lora_experts"))
    return counted(
        width * elements
        for modules in _adapted(stack, stage)
        for module in modules
        for elements in _lora_elements(module, with_experts=experts)
    )


def _adapted(stack: Stack, stage: Stage) -> Iterable[tuple[Module, ...]]:
    if stage.is_first:
        yield stack.first
    yield from (stack.layers[index].modules for index in range(stage.start, stage.end))
    if stage.is_last:
        yield stack.first if stack.tied else stack.last


def _lora_elements(module: Module, *, with_experts: bool) -> Iterable[int]:
    """Yield the elements of each tensor per unit of rank."""
    if isinstance(module, Linear):
        yield from (module.inputs for _ in module.outputs)
        yield from module.outputs
    elif isinstance(module, Experts) and with_experts:
        parts = 2 if module.gated else 1
        for _ in range(parts):
            yield module.experts * module.hidden
            yield module.experts * module.width
        yield module.experts * module.width
        yield module.experts * module.hidden


def _latent_copies(checkpoint: Checkpoint, config: EngineConfig, scheme: Scheme, stage: Stage) -> Bytes:
    """Return the matrices that MLA makes of kv_b_proj after loading.

    Up to 0.7.3 projections were multiplied with each other and kept beside the originals
    (vllm/attention/backends/mla/utils.py at 0.7.1); since then the two halves of kv_b_proj are copies only where it is
    quantised (vllm/v1/attention/backends/mla/common.py).
    """
    kept = config.rules.weights.get("latent_copies")
    text = checkpoint.text
    rank = number(text, "kv_lora_rank", default=0)
    if not kept or not rank:
        return 0
    heads = number(text, "num_attention_heads", default=0) // config.tensor_parallel_size
    halves = rank * heads * (need(text, "qk_nope_head_dim") + need(text, "v_head_dim"))
    stored = scheme.kind_of("model.layers.0.self_attn.kv_b_proj") is not None
    if kept == "products":
        layer = halves * 2 + _products(text, heads, rank, 1 if stored else 2)
    else:
        layer = halves * 2 if stored else 0
    return layer * (stage.end - stage.start)


def _products(text: Config, heads: int, rank: int, element: int) -> Bytes:
    """Return W_Q_UK, W_UV_O, which are quantised again where the originals are, and W_QR, which is not."""
    query = number(text, "q_lora_rank", default=0) or number(text, "hidden_size", default=0)
    hidden = number(text, "hidden_size", default=0)
    rotated = number(text, "qk_rope_head_dim", default=0)
    return element * heads * rank * (query + hidden) + 2 * query * heads * rotated


def _deepstack(checkpoint: Checkpoint, config: EngineConfig, scheme: Scheme) -> Bytes:
    """Return the buffers that carry features of several vision layers past the first decoder layers.

    One row of hidden_size for each token of a batch and each of the layers (vllm/model_executor/models/qwen3_vl.py).
    """
    if drops_towers(checkpoint, config):
        return 0
    indexes = nested(checkpoint.config, "vision_config").get("deepstack_visual_indexes")
    levels = len(indexes) if isinstance(indexes, list | tuple) else 0
    row = number(checkpoint.text, "hidden_size", default=0) * scheme.element_bytes
    return counted((config.integer("max_num_batched_tokens") * row,) * levels)


def _layer_inputs(checkpoint: Checkpoint, config: EngineConfig, scheme: Scheme) -> Bytes:
    """Return the buffer of per-layer embeddings that a class which takes images keeps for a batch.

    A row of hidden_size_per_layer_input for each token and each layer (gemma3n_mm.py, gemma4_mm.py).
    """
    row = number(checkpoint.text, "hidden_size_per_layer_input", default=0) * scheme.element_bytes
    if not checkpoint.is_multimodal or not row or not config.rules.weights.get("layer_inputs_kept"):
        return 0
    layers = number(checkpoint.text, "num_hidden_layers", default=0)
    return counted((config.integer("max_num_batched_tokens") * layers * row,))
