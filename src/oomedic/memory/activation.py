"""The peak of the profile run: the largest of what the encoder, the forward pass and the sampler hold at once.

Mirrors what vllm/v1/worker/gpu_model_runner.py profile_run makes the model do: an encoder batch of dummy items, a
forward pass of max_num_batched_tokens tokens without attention, then logits and sampling for min(max_num_seqs,
max_num_batched_tokens) rows. torch.compile frees as it goes, so a pass costs about its largest layer.
"""

import re
from typing import Final, NamedTuple

from oomedic.engine.config import EngineConfig
from oomedic.memory.encoder_items import EncoderBatch, encoder_batch, takes_text_only, tower_config
from oomedic.models.checkpoint import Checkpoint
from oomedic.models.hf_config import Config, first, need, number, ratio
from oomedic.models.quantization import method_of, quantization_block
from oomedic.units import Bytes

_ELEMENT: Final = 2
_GENERATING: Final = frozenset(("generate", "transcription", "draft"))
_CONVERSIONS: Final = frozenset(("embed", "classify", "reward", "mm_encoder_only"))
_EMBEDDING_NAME: Final = re.compile(r"(?<![a-z])embed", re.IGNORECASE)
_POOLING: Final = ("ForTextEncoding", "Classification", "ForRewardModeling", "Model")
"""How architectures end that vLLM takes for pooling models (vllm/config/model.py _SUFFIX_TO_DEFAULTS)."""
_CHATTING: Final = ("ChatModel", "LMHeadModel")
_GATED_TOWERS: Final = frozenset(("qwen2_5_vl", "pixtral"))
"""Towers whose MLP has a gate."""
_UNROTATED_TOWERS: Final = frozenset(("clip_vision_model", "siglip_vision_model", "intern_vit_6b", "idefics3_vision"))
"""Towers with learned positions, which need not copy queries and keys to rotate them."""
_REBINDING: Final = frozenset(("llama", "mistral", "bamba"))
"""Model types whose MLP calls each of its tensors x (vllm/model_executor/models/llama.py LlamaMLP.forward)."""
_MLA_CONTEXT: Final = 65536
"""Tokens of context that an MLA prefill workspace holds at most (VLLM's chunked prefill workspace)."""


class Peak(NamedTuple):
    """Bytes of the largest part and its name: "forward", "sampler", "encoder" or "compilation"."""

    part: str
    size: Bytes
    low: Bytes
    high: Bytes


def activation_peak(checkpoint: Checkpoint, config: EngineConfig) -> Peak:
    """Return the largest of the parts; bands are those of the audited start-ups (benchmarks/accuracy.py).

    What the encoder made of its items stays while the language model and its sampler run; experts may keep caches.
    """
    profiles_encoder = _profiles_encoder(checkpoint, config)
    held = encodings(checkpoint, config) if profiles_encoder else 0
    beside_sampler = held + kept_workspace(checkpoint, config)
    parts = [_beside(held, forward(checkpoint, config)), _beside(beside_sampler, sampler(checkpoint, config))]
    if profiles_encoder:
        parts.append(encoder(checkpoint, config))
    if _copies_embedding(checkpoint, config):
        parts.append(compilation(checkpoint, config))
    return max(parts, key=lambda part: part.size)


def _profiles_encoder(checkpoint: Checkpoint, config: EngineConfig) -> bool:
    """Tell whether the profile run feeds the encoder; the second runner does so since 0.27 only."""
    if not checkpoint.is_multimodal or config.flag("skip_mm_profiling") or takes_text_only(checkpoint, config):
        return False
    return config.runner != "V2" or bool(config.rules.runner_v2.get("profiles_encoder", True))


def _copies_embedding(checkpoint: Checkpoint, config: EngineConfig) -> bool:
    """Tell whether compiling copies the embedding: not where it stands before the graph, as with images."""
    copies = config.runner == "V2" and config.rules.runner_v2.get("copies_embedding")
    return bool(copies) and not config.flag("enforce_eager") and not checkpoint.is_multimodal


def _beside(held: Bytes, part: Peak) -> Peak:
    return Peak(part.part, part.size + held, part.low + held, part.high + held)


def encodings(checkpoint: Checkpoint, config: EngineConfig) -> Bytes:
    """Return the embeddings that the profile run keeps, a row of hidden_size for each level that feeds the text."""
    batch = encoder_batch(checkpoint, config)
    if batch is None:
        return 0
    levels = tower_config(checkpoint).get("deepstack_visual_indexes")
    rows = 1 + (len(levels) if isinstance(levels, list | tuple) else 0)
    return batch.kept * number(checkpoint.text, "hidden_size", default=0) * rows * _ELEMENT


def forward(checkpoint: Checkpoint, config: EngineConfig) -> Peak:
    """Return what one layer of a pass over max_num_batched_tokens tokens holds."""
    text, tokens, ranks = checkpoint.text, config.integer("max_num_batched_tokens"), config.tensor_parallel_size
    hidden = number(text, "hidden_size", "d_model", "n_embd", default=4096)
    width = _widest(text, 4 * hidden)
    dense = _ELEMENT * tokens * (3 * width // ranks + _hidden_rows(text, config) * hidden)
    size = max(dense if not checkpoint.experts else 0, _experts(checkpoint, config, hidden))
    size += _latent_context(text, config)
    return Peak("forward", size, size // 4, round(size * 1.6))


def _hidden_rows(text: Config, config: EngineConfig) -> int:
    """Return how many values of hidden_size a dense layer holds for each token beside its MLP's.

    Without torch.compile a tensor lives as long as Python has a name for it: the input of the layer, the residual and
    the MLP's input stand beside both intermediate tensors while the output, and where ranks add theirs up its sum, are
    made (qwen2.py Qwen2MLP.forward; cuda_communicator.py all_reduce). LlamaMLP gives its names away before that.
    """
    compiled = config.generation != "V0" and not config.flag("enforce_eager")
    if compiled or str(text.get("model_type")) in _REBINDING:
        return 3
    copies = config.tensor_parallel_size > 1 and config.rules.counted.get("all_reduce_copies")
    return 5 if copies else 4


def _widest(text: Config, usual: int) -> int:
    """Return the width of a feed-forward layer, of the widest where each layer has its own (Gemma 3n)."""
    names = ("intermediate_size_mlp", "intermediate_size", "ffn_dim")
    each = first(text, *names)
    if isinstance(each, list) and each:
        return max(number({"width": width}, "width", default=0) for width in each)
    return number(text, *names, default=usual)


def sampler(checkpoint: Checkpoint, config: EngineConfig) -> Peak:
    """Return logits, their sorted copy and probabilities for all dummy rows: about 38 bytes per row and entry.

    A pooling model has no sampler.
    """
    if pools(checkpoint, config):
        return Peak("sampler", 0, 0, 0)
    rows = min(config.integer("max_num_seqs"), config.integer("max_num_batched_tokens")) * (1 + speculative(config))
    vocabulary = number(checkpoint.text, "vocab_size", default=0)
    table = config.rules.runner_v2 if config.runner == "V2" else config.rules.counted
    per_entry = float(table.get("sampler_bytes", 38))
    size = round(rows * vocabulary * per_entry)
    return Peak("sampler", size, size // 3, round(size * 1.15))


def pools(checkpoint: Checkpoint, config: EngineConfig) -> bool:
    """Tell whether the model makes vectors, classes or scores, and no text (vllm/config/model.py get_runner_type).

    The engine looks for modules.json of Sentence Transformers beside the config; here the name tells it.
    """
    asked = config.value("runner") or config.value("task")
    if asked and asked != "auto":
        return asked not in _GENERATING
    if config.value("convert") in _CONVERSIONS or _EMBEDDING_NAME.search(checkpoint.id):
        return True
    architecture = checkpoint.architecture or ""
    return architecture.endswith(_POOLING) and not architecture.endswith(_CHATTING)


def compilation(checkpoint: Checkpoint, config: EngineConfig) -> Peak:
    """Return what torch.compile holds while its cache is cold, as a restarted container's is: a copy of the embedding.

    Qwen3-4B printed 0.74 GiB for a table of 0.72, Qwen3-8B 1.18 for 1.16; with a warm cache 0.15 and 0.19.
    """
    rows, hidden = (number(checkpoint.text, key, default=0) for key in ("vocab_size", "hidden_size"))
    size = _ELEMENT * rows * hidden // config.tensor_parallel_size
    return Peak("compilation", size, size // 8, round(size * 1.1))


def encoder(checkpoint: Checkpoint, config: EngineConfig) -> Peak:
    """Return the peak of the encoder while it works on the largest items that the profile run gives it.

    A tower is not compiled, so that a block costs all that it names. Where the items are not known, a rough figure
    stands: four of the MLP's widths for each of four patches that make up a token of a batch.
    """
    tower = tower_config(checkpoint)
    batch = encoder_batch(checkpoint, config)
    if batch is not None and _width(tower):
        size = batch.item.patches * _items_of_a_rank(batch, config) * _live_bytes(tower, config)
        return Peak("encoder", size, size * 2 // 3, size * 3 // 2)
    tokens = config.integer("max_num_batched_tokens")
    usual = 4 * number(tower, "hidden_size", "embed_dim", default=1024)
    inner = number(tower, "intermediate_size", default=usual)
    patches = _images_of_all_requests(checkpoint, tower, config) or 4 * max(tokens, 2048)
    size = _ELEMENT * patches * inner * 4
    return Peak("encoder", size, size // 4, size * 4)


def _width(tower: Config) -> int:
    return number(tower, "embed_dim", "hidden_size", default=0)


def _items_of_a_rank(batch: EncoderBatch, config: EngineConfig) -> int:
    """Return how many items one rank works on: all of them, unless each rank has its own (mm_encoder_tp_mode data)."""
    if config.value("mm_encoder_tp_mode") != "data":
        return batch.items
    return -(-batch.items // config.tensor_parallel_size)


def _live_bytes(tower: Config, config: EngineConfig) -> Bytes:
    """Return what a tower holds for each patch: its pixels, and the larger of attention and MLP of one block.

    Tensors that Python still has names for, as in qwen2_5_vl.py Qwen2_5_VisionAttention.forward: the input, its
    positions, its norm and the projected output are whole on each rank; queries, keys and values, the copy of the first
    two, their rotation and what attention made of them are split.
    """
    width = _width(tower)
    inner = number(tower, "intermediate_size", default=round(width * ratio(tower, "mlp_ratio", default=4.0)))
    heads = number(tower, "num_attention_heads", "num_heads", default=1)
    split = config.value("mm_encoder_tp_mode") != "data" and heads % config.tensor_parallel_size == 0
    ranks = config.tensor_parallel_size if split else 1
    kind = str(tower.get("model_type"))
    attention = 3 * width + 4 * width // ranks if kind in _UNROTATED_TOWERS else 4 * width + 8 * width // ranks
    feed_forward = 4 * width + (3 if kind in _GATED_TOWERS else 2) * inner // ranks
    frames = number(tower, "temporal_patch_size", default=1)
    pixels = 3 * frames * number(tower, "patch_size", "spatial_patch_size", default=14) ** 2
    return _ELEMENT * (max(attention, feed_forward) + pixels)


def _images_of_all_requests(checkpoint: Checkpoint, tower: Config, config: EngineConfig) -> int:
    """Return the patches of one largest image per request, which V0 makes of a model with cross-attention.

    vllm/worker/enc_dec_model_runner.py profile_run; a tile has one class token and is padded to a multiple of 8.
    """
    if config.generation != "V0" or checkpoint.config.get("model_type") != "mllama":
        return 0
    side = number(tower, "image_size", default=560) // number(tower, "patch_size", default=14)
    tile = -(-(side * side + 1) // 8) * 8
    return config.integer("max_num_seqs") * number(tower, "max_num_tiles", default=4) * tile


def speculative(config: EngineConfig) -> int:
    """Return the number of speculated tokens per step."""
    value = config.value("speculative_config")
    if isinstance(value, dict):
        asked = str(value.get("num_speculative_tokens"))
        return int(asked) if asked.isdecimal() else 0  # what is no number the engine refuses
    return config.integer("num_speculative_tokens")


def _experts(checkpoint: Checkpoint, config: EngineConfig, hidden: int) -> Bytes:
    """Return what a fused MoE layer holds: its two intermediate caches, and its output."""
    tokens = min(config.integer("max_num_batched_tokens"), int(config.rules.counted["experts_chunk"]))
    caches = _expert_caches(checkpoint, config, hidden)
    return round(caches * float(config.rules.counted["experts_share"])) + 4 * tokens * hidden if caches else 0


def _expert_caches(checkpoint: Checkpoint, config: EngineConfig, hidden: int) -> Bytes:
    """Return the two intermediate caches of a fused MoE layer (vllm fused_moe: top-k copies of each token).

    Old releases work through a batch in chunks of tokens (VLLM_FUSED_MOE_CHUNK_SIZE).
    """
    if not checkpoint.experts:
        return 0
    text, ranks = checkpoint.text, config.tensor_parallel_size
    tokens = min(config.integer("max_num_batched_tokens"), int(config.rules.counted["experts_chunk"]))
    chosen = number(text, "num_experts_per_tok", "num_experts_per_token", "moe_topk", "top_k", "moe_k", default=1)
    width = number(text, "moe_intermediate_size", "intermediate_size", default=hidden) // ranks
    return _ELEMENT * tokens * chosen * (max(width, hidden) + max(2 * width, hidden))


def kept_workspace(checkpoint: Checkpoint, config: EngineConfig) -> Bytes:
    """Return what the layers of experts share and keep after they ran, so that it stands beside the sampler.

    Modular kernels take their caches from vllm/v1/worker/workspace.py WorkspaceManager, which frees nothing: plain and
    fp8 experts since 0.14 (fused_moe/oracle), all since 0.20.
    """
    kept = config.rules.counted.get("kept_experts", ())
    method = method_of(quantization_block(checkpoint.config)) or config.value("quantization") or "plain"
    if "all" not in kept and method not in kept:
        return 0
    return _expert_caches(checkpoint, config, number(checkpoint.text, "hidden_size", "d_model", default=0))


def _latent_context(text: Config, config: EngineConfig) -> Bytes:
    """Return the workspace in which an MLA prefill decompresses earlier context."""
    if not text.get("kv_lora_rank") or config.generation == "V0":
        return 0
    length = config.max_model_len or 0
    rows = min(max(8 * length, 4 * config.integer("max_num_seqs") * config.integer("block_size")), _MLA_CONTEXT)
    heads = number(text, "num_attention_heads", default=1) // config.tensor_parallel_size
    return rows * heads * (need(text, "qk_nope_head_dim") + need(text, "v_head_dim")) * _ELEMENT
