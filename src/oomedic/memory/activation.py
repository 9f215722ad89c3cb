"""The peak of the profile run: the largest of what the encoder, the forward pass and the sampler hold at once.

Mirrors what vllm/v1/worker/gpu_model_runner.py profile_run makes the model do: an encoder batch of dummy items, a
forward pass of max_num_batched_tokens tokens without attention, then logits and sampling for min(max_num_seqs,
max_num_batched_tokens) rows. torch.compile frees as it goes, so a pass costs about its largest layer.
"""

from typing import Final, NamedTuple

from oomedic.engine.config import EngineConfig
from oomedic.models.checkpoint import Checkpoint
from oomedic.models.hf_config import Config, first, need, nested, number
from oomedic.units import Bytes

_ELEMENT: Final = 2
_MLA_CONTEXT: Final = 65536
"""Tokens of context that an MLA prefill workspace holds at most (VLLM's chunked prefill workspace)."""


class Peak(NamedTuple):
    """Bytes of the largest part and its name: "forward", "sampler", "encoder" or "compilation"."""

    part: str
    size: Bytes
    low: Bytes
    high: Bytes


def activation_peak(checkpoint: Checkpoint, config: EngineConfig) -> Peak:
    """Return the largest of the parts; bands are those of the audited start-ups (benchmarks/accuracy.py)."""
    parts = [forward(checkpoint, config), sampler(checkpoint, config)]
    if checkpoint.is_multimodal and not encoder_is_off(config):
        parts.append(encoder(checkpoint, config))
    if config.runner == "V2" and config.rules.runner_v2.get("copies_embedding") and not config.flag("enforce_eager"):
        parts.append(compilation(checkpoint, config))
    return max(parts, key=lambda part: part.size)


def forward(checkpoint: Checkpoint, config: EngineConfig) -> Peak:
    """Return what one layer of a pass over max_num_batched_tokens tokens holds."""
    text, tokens, ranks = checkpoint.text, config.integer("max_num_batched_tokens"), config.tensor_parallel_size
    hidden = number(text, "hidden_size", "d_model", "n_embd", default=4096)
    width = _widest(text, 4 * hidden)
    dense = _ELEMENT * tokens * (3 * width // ranks + 3 * hidden)
    size = max(dense if not checkpoint.experts else 0, _experts(checkpoint, config, hidden))
    size += _latent_context(text, config)
    return Peak("forward", size, size // 4, round(size * 1.6))


def _widest(text: Config, usual: int) -> int:
    """Return the width of a feed-forward layer, of the widest where each layer has its own (Gemma 3n)."""
    names = ("intermediate_size_mlp", "intermediate_size", "ffn_dim")
    each = first(text, *names)
    if isinstance(each, list) and each:
        return max(number({"width": width}, "width", default=0) for width in each)
    return number(text, *names, default=usual)


def sampler(checkpoint: Checkpoint, config: EngineConfig) -> Peak:
    """Return logits, their sorted copy and probabilities for all dummy rows: about 38 bytes per row and entry."""
    rows = min(config.integer("max_num_seqs"), config.integer("max_num_batched_tokens")) * (1 + speculative(config))
    vocabulary = number(checkpoint.text, "vocab_size", default=0)
    table = config.rules.runner_v2 if config.runner == "V2" else config.rules.counted
    per_entry = float(table.get("sampler_bytes", 38))
    size = round(rows * vocabulary * per_entry)
    return Peak("sampler", size, size // 3, round(size * 1.15))


def compilation(checkpoint: Checkpoint, config: EngineConfig) -> Peak:
    """Return what torch.compile holds while its cache is cold, as a restarted container's is: a copy of the embedding.

    Qwen3-4B printed 0.74 GiB for a table of 0.72, Qwen3-8B 1.18 for 1.16; with a warm cache 0.15 and 0.19.
    """
    rows, hidden = (number(checkpoint.text, key, default=0) for key in ("vocab_size", "hidden_size"))
    size = _ELEMENT * rows * hidden // config.tensor_parallel_size
    return Peak("compilation", size, size // 8, round(size * 1.1))


def encoder(checkpoint: Checkpoint, config: EngineConfig) -> Peak:
    """Return a rough peak of the encoder: activations and cached embeddings of the largest items.

    The items of a batch hold together at least max_num_batched_tokens embeddings; the encoder's own activations are of
    the order of four of its layers' inputs. The band is wide: no config tells the largest item.
    """
    tokens = config.integer("max_num_batched_tokens")
    tower = nested(checkpoint.config, "vision_config", "vit_config", "audio_config")
    usual = 4 * number(tower, "hidden_size", "embed_dim", default=1024)
    inner = number(tower, "intermediate_size", default=usual)
    patches = _images_of_all_requests(checkpoint, tower, config) or 4 * max(tokens, 2048)
    size = _ELEMENT * patches * inner * 4
    return Peak("encoder", size, size // 4, size * 4)


def encoder_is_off(config: EngineConfig) -> bool:
    """Tell whether no prompt may have an image, a video or a sound, so that nothing runs through the encoder."""
    limits = config.value("limit_mm_per_prompt")
    if not isinstance(limits, dict) or not (limits.keys() >= {"image", "video"} or "audio" in limits):
        return False
    return all(limit == 0 for limit in limits.values())


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
        return int(value.get("num_speculative_tokens") or 0)
    return config.integer("num_speculative_tokens")


def _experts(checkpoint: Checkpoint, config: EngineConfig, hidden: int) -> Bytes:
    """Return the two intermediate caches of a fused MoE layer (vllm fused_moe: top-k copies of each token).

    Old releases work through a batch in chunks of tokens (VLLM_FUSED_MOE_CHUNK_SIZE).
    """
    if not checkpoint.experts:
        return 0
    text, ranks = checkpoint.text, config.tensor_parallel_size
    tokens = min(config.integer("max_num_batched_tokens"), int(config.rules.counted["experts_chunk"]))
    chosen = number(text, "num_experts_per_tok", "num_experts_per_token", "moe_topk", "top_k", "moe_k", default=1)
    width = number(text, "moe_intermediate_size", "intermediate_size", default=hidden) // ranks
    copies = tokens * chosen * (max(width, hidden) + max(2 * width, hidden))
    return round(_ELEMENT * copies * float(config.rules.counted["experts_share"])) + 4 * tokens * hidden


def _latent_context(text: Config, config: EngineConfig) -> Bytes:
    """Return the workspace in which an MLA prefill decompresses earlier context."""
    if not text.get("kv_lora_rank") or config.generation == "V0":
        return 0
    length = config.max_model_len or 0
    rows = min(max(8 * length, 4 * config.integer("max_num_seqs") * config.integer("block_size")), _MLA_CONTEXT)
    heads = number(text, "num_attention_heads", default=1) // config.tensor_parallel_size
    return rows * heads * (need(text, "qk_nope_head_dim") + need(text, "v_head_dim")) * _ELEMENT
