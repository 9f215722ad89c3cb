"""The images, videos and sounds that the profile run feeds the encoder with: how many, and how large.

Mirrors vllm/multimodal/encoder_budget.py (up to 0.13 vllm/v1/worker/utils.py MultiModalBudget), on V0
vllm/worker/model_runner.py profile_run, and what each model's get_mm_max_tokens_per_item says of its largest item.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from oomedic.engine.config import EngineConfig
from oomedic.models.checkpoint import Checkpoint
from oomedic.models.hf_config import Config, nested, number
from oomedic.models.modules import ceil_div

_UNLIMITED: Final = 999
_TOWERS: Final = ("vision_config", "vit_config", "audio_config", "visual")
_WATCHING: Final = frozenset(("qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_vl_moe", "qwen3_5", "qwen3_5_moe", "gemma4"))
"""Model types that take videos beside images."""


class Item(NamedTuple):
    """The largest item of a modality.

    ``tokens`` in a prompt, with marks around and within it; ``rows`` of embeddings, made of ``patches``.
    """

    tokens: int
    rows: int
    patches: int


class EncoderBatch(NamedTuple):
    """What the tower works on at once: ``items`` times ``item``.

    ``kept`` are the rows of embeddings that stay until the sampler has run.
    """

    item: Item
    items: int
    kept: int


def tower_config(checkpoint: Checkpoint) -> Config:
    """Return the part of the config that describes the encoder."""
    return nested(checkpoint.config, *_TOWERS)


def takes_text_only(checkpoint: Checkpoint, config: EngineConfig) -> bool:
    """Tell whether the engine was told to take no image, video or sound: then it has no encoder to profile."""
    return all(_limit(config, modality) == 0 for modality in _modalities(checkpoint))


def drops_towers(checkpoint: Checkpoint, config: EngineConfig) -> bool:
    """Tell whether the engine leaves out the towers of a model that shall take text only.

    Some classes since 0.10.1 (``if multimodal_config.get_limit_per_prompt("image")``), all since 0.15
    (vllm/model_executor/models/interfaces.py _mark_tower_model).
    """
    able = config.rules.weights.get("droppable_towers", ())
    known = "all" in able or _model_type(checkpoint) in able
    return bool(known and checkpoint.is_multimodal and takes_text_only(checkpoint, config))


def encoder_batch(checkpoint: Checkpoint, config: EngineConfig) -> EncoderBatch | None:
    """Return the batch of the profile run, None where the size of the model's items is not known."""
    measure = _ITEMS.get(_model_type(checkpoint))
    tower = tower_config(checkpoint)
    if measure is None or not tower:
        return None
    items = {kind: item for kind, item in measure(tower, checkpoint.config, config).items() if _limit(config, kind)}
    if not items:
        return None
    return _on_v0(items, config) if config.generation == "V0" else _on_v1(items, config)


def _on_v1(items: Mapping[str, Item], config: EngineConfig) -> EncoderBatch:
    """Return as many of the largest items as a batch and max_num_seqs prompts may hold."""
    kind, item = max(items.items(), key=lambda pair: pair[1].tokens)
    rules = config.rules.v1
    budget = max(config.integer("max_num_batched_tokens"), item.tokens)
    in_batch = budget // item.tokens if rules.get("whole_items") else ceil_div(budget, item.tokens)
    in_prompt = max(1, min(_limit(config, kind), (config.max_model_len or budget) // item.tokens))
    count = max(1, min(in_batch, config.integer("max_num_seqs") * in_prompt))
    # 0.11 and 0.12 scatter each output onto a tensor as long as the whole budget, and still hold the last one itself
    kept = count * budget + item.rows if rules.get("spreads_encodings") else count * item.rows
    return EncoderBatch(item, count, kept)


def _on_v0(items: Mapping[str, Item], config: EngineConfig) -> EncoderBatch | None:
    """Return all items of as many prompts as fit a batch, at least one; a prompt has every kind that it may have.

    A peak of 2.47 GiB without videos was 4.93 with one (Qwen2.5-VL-7B, 0.10.0). Before 0.7 each model had its way.
    """
    if not config.rules.v0.get("profiles_largest_items"):
        return None
    tokens, rows, patches = (
        sum(_limit(config, kind) * item[place] for kind, item in items.items()) for place in range(len(Item._fields))
    )
    prompts = max(1, min(config.integer("max_num_seqs"), config.integer("max_num_batched_tokens") // tokens))
    return EncoderBatch(Item(tokens, rows, patches), prompts, prompts * rows)


def _modalities(checkpoint: Checkpoint) -> tuple[str, ...]:
    kind = _model_type(checkpoint)
    audio = ("audio",) if isinstance(checkpoint.config.get("audio_config"), Mapping) else ()
    return ("image", *(("video",) if kind in _WATCHING else ()), *audio)


def _limit(config: EngineConfig, modality: str) -> int:
    """Return how many items of a modality a prompt may have: 1 on V0, no limit on V1 unless one is given."""
    if config.flag("language_model_only"):
        return 0
    limits = config.value("limit_mm_per_prompt")
    given = limits.get(modality) if isinstance(limits, Mapping) else None
    count = given.get("count") if isinstance(given, Mapping) else given
    usual = 1 if config.generation == "V0" else _UNLIMITED
    return count if isinstance(count, int) and not isinstance(count, bool) and count >= 0 else usual


def _model_type(checkpoint: Checkpoint) -> str:
    return str(checkpoint.config.get("model_type"))


def _qwen2(tower: Config, _model: Config, config: EngineConfig) -> Mapping[str, Item]:
    """Return the largest image of Qwen2-VL and Qwen2.5-VL, and the longest video of such frames that fits a prompt.

    vllm/model_executor/models/qwen2_vl.py Qwen2VLProcessingInfo; two frames make one layer of patches.
    """
    merged = number(tower, "spatial_merge_size", default=2)
    side = number(tower, "patch_size", "spatial_patch_size", default=14) * merged
    frame = max(1, _pixels(config, 12845056) // side**2)
    rules = config.rules.v1
    length = (config.max_model_len or frame) - (frame if rules.get("video_beside_image") else 0)
    frames = min(2 * (length // frame), int(rules.get("video_frames", 1)))
    layers = max(1, ceil_div(frames, 2)) if config.generation == "V1" else 1
    return {
        "image": Item(frame, frame, frame * merged**2),
        "video": Item(layers * frame, layers * frame, layers * frame * merged**2),
    }


def _qwen3(tower: Config, _model: Config, config: EngineConfig) -> Mapping[str, Item]:
    """Return the largest image and video of Qwen3-VL, Qwen3.5 and Qwen3.6, which the processor's pixels limit.

    vllm/model_executor/models/qwen3_vl.py Qwen3VLProcessingInfo: two frames share the pixels of a video; in 0.11 and
    0.12 each of its tokens counts 12.5 times, for the time stamps between frames.
    """
    merged = number(tower, "spatial_merge_size", default=2)
    side = number(tower, "patch_size", default=16) * merged
    image = max(1, _pixels(config, 16777216) // side**2)
    video = max(1, _pixels(config, 25165824) // (2 * side**2))
    spread = float(config.rules.v1.get("video_token_share", 1))
    return {
        "image": Item(image, image, image * merged**2),
        "video": Item(int(video * spread), video, video * merged**2),
    }


def _pixels(config: EngineConfig, usual: int) -> int:
    """Return how many pixels an item may have: the processor's own limit unless mm_processor_kwargs set another."""
    asked = config.value("mm_processor_kwargs")
    if not isinstance(asked, Mapping):
        return usual
    size = asked.get("size")
    edge = size.get("longest_edge") if isinstance(size, Mapping) else None
    return _count(asked.get("max_pixels")) or _count(edge) or usual


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _gemma3(tower: Config, model: Config, _config: EngineConfig) -> Mapping[str, Item]:
    """Return an image of Gemma 3 with the two line breaks and the mark on either side of it."""
    tokens = number(model, "mm_tokens_per_image", default=256)
    return {"image": Item(tokens + 4, tokens, _grid(tower, 896, 14))}


def _gemma4(tower: Config, _model: Config, _config: EngineConfig) -> Mapping[str, Item]:
    """Return an image and a video of Gemma 4: 32 frames of 70 tokens with their marks and time stamps.

    vllm/model_executor/models/gemma4_mm.py get_mm_max_tokens_per_item.
    """
    pooled = number(tower, "pooling_kernel_size", default=3) ** 2
    image = number(tower, "default_output_length", default=280)
    video = Item(32 * (70 + 2 + 6), 32 * 70, 32 * 70 * pooled)
    return {"image": Item(image + 2, image, image * pooled), "video": video}


def _llama4(tower: Config, _model: Config, _config: EngineConfig) -> Mapping[str, Item]:
    """Return an image of Llama 4: 16 tiles and the whole of it once more, a quarter of the patches left as tokens."""
    patches = _grid(tower, 336, 14)
    return {"image": Item(17 * (patches // 4 + 1), 17 * (patches // 4), 17 * (patches + 1))}


def _internvl(tower: Config, model: Config, _config: EngineConfig) -> Mapping[str, Item]:
    """Return an image of InternVL: max_dynamic_patch tiles and a thumbnail (vllm/model_executor/models/internvl.py)."""
    tiles = number(model, "max_dynamic_patch", default=12)
    tiles += 1 if model.get("use_thumbnail", True) and tiles > 1 else 0
    patches = _grid(tower, 448, 14)
    return {"image": Item(tiles * (patches // 4), tiles * (patches // 4), tiles * (patches + 1))}


def _llava(tower: Config, model: Config, config: EngineConfig) -> Mapping[str, Item]:
    """Return an image of LLaVA 1.5, or of Pixtral, whose converted checkpoints go by the same name."""
    if tower.get("model_type") == "pixtral":
        return _pixtral(tower, model, config)
    patches = _grid(tower, 336, 14)
    return {"image": Item(patches, patches, patches + 1)}


def _llava_next(tower: Config, _model: Config, _config: EngineConfig) -> Mapping[str, Item]:
    """Return an image of LLaVA-NeXT: four tiles with a mark for each row, and the whole of it once more."""
    patches = _grid(tower, 336, 14)
    rows = 2 * round(patches**0.5)
    return {"image": Item(5 * patches + rows, 5 * patches + rows, 5 * (patches + 1))}


def _pixtral(tower: Config, model: Config, _config: EngineConfig) -> Mapping[str, Item]:
    """Return an image of Pixtral and Mistral Small 3.1: a token for each merged patch, and a mark for each row."""
    merged = number(model, "spatial_merge_size", default=1)
    patches = _grid(tower, 1024, 16)
    rows = round(patches**0.5) // merged
    return {"image": Item(rows * (rows + 1), rows * rows, patches)}


def _grid(tower: Config, image: int, patch: int) -> int:
    """Return how many patches cover a square image."""
    return (number(tower, "image_size", default=image) // max(1, number(tower, "patch_size", default=patch))) ** 2


_ITEMS: Final[Mapping[str, Callable[[Config, Config, EngineConfig], Mapping[str, Item]]]] = {
    "qwen2_vl": _qwen2,
    "qwen2_5_vl": _qwen2,
    "qwen3_vl": _qwen3,
    "qwen3_vl_moe": _qwen3,
    "qwen3_5": _qwen3,
    "qwen3_5_moe": _qwen3,
    "gemma3": _gemma3,
    "gemma4": _gemma4,
    "llama4": _llama4,
    "internvl_chat": _internvl,
    "llava": _llava,
    "llava_next": _llava_next,
    "mistral3": _pixtral,
}
"""How large an item of each model type can be, by modality."""
