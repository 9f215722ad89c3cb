"""Towers for images, video and audio, one file per family; ``encoder_of`` finds the one of a model."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Final

from oomedic.errors import InputError
from oomedic.models.architectures.encoders.vit import Tower
from oomedic.models.hf_config import Config
from oomedic.models.modules import Shard

Builder = Callable[[Config, Config, Shard], Tower | None]
"""Makes the tower of a whole config and its vision or audio part for a shard, None when a part of it is not known."""


_BUILDERS: Final = {
    "gemma3": ("clip", "gemma3"),
    "gemma3n": ("gemma", "gemma3n"),
    "gemma4": ("gemma", "gemma4"),
    "gemma4_unified": ("gemma", "gemma4_unified"),
    "idefics3": ("clip", "idefics3"),
    "smolvlm": ("clip", "idefics3"),
    "internvl_chat": ("internvit", "internvl"),
    "minimax_m3_vl": ("minimax", "minimax_m3"),
    "kimi_k25": ("kimi", "moonvit"),
    "kimi_vl": ("kimi", "moonvit"),
    "llama4": ("llama4", "llama4"),
    "llava_onevision": ("clip", "llava_onevision"),
    "muse_glimmer": ("muse", "muse_glimmer"),
    "mllama": ("mllama", "mllama"),
    "mistral3": ("pixtral", "mistral3"),
    "pixtral_llava": ("pixtral", "llava"),
    "glm4v": ("glm", "glm4v"),
    "glm4v_moe": ("glm", "glm4v"),
    "glm_ocr": ("glm", "glm_ocr"),
    "llava": ("clip", "llava"),
    "llava_next": ("clip", "llava"),
    "paligemma": ("clip", "paligemma"),
    "qwen2_audio": ("audio", "qwen2_audio"),
    "voxtral": ("audio", "voxtral"),
    "qwen2_vl": ("qwen", "qwen2_vl"),
    "qwen2_5_vl": ("qwen", "qwen2_5_vl"),
    "qwen3_vl": ("qwen", "qwen3_vl"),
    "qwen3_vl_moe": ("qwen", "qwen3_vl"),
    "qwen3_5": ("qwen", "qwen3_vl"),
    "qwen3_5_moe": ("qwen", "qwen3_vl"),
}
"""Module and function of each model type; only the module of the model at hand is loaded."""

_LLAVA: Final = frozenset(("llava", "llava_next"))
_HEARING: Final = frozenset(("voxtral", "qwen2_audio"))
"""Models whose only encoder is for audio, described or not."""
_PARTS: Final = ("vision_config", "vit_config", "vision_tower_config", "visual", "audio_config")


def encoder_of(config: Config, shard: Shard) -> Tower | None:
    """Return the encoders of a model on one rank.

    Empty where it has none; None where their kind is not known, or the config does not describe them.
    """
    if shard.no_encoder or config.get("model_type") in shard.release.get("text_only", ()):
        return ()
    try:
        return _built(config, shard)
    except InputError:
        return None


def _built(config: Config, shard: Shard) -> Tower | None:
    kind = str(config.get("model_type"))
    part = next((config[key] for key in _PARTS if isinstance(config.get(key), Mapping)), None)
    if part is None:
        return None if kind in _HEARING else ()
    if kind in _LLAVA and part.get("model_type") == "pixtral":
        kind = "pixtral_llava"
    if kind not in _BUILDERS:
        return None
    module, function = _BUILDERS[kind]
    builder: Builder = getattr(import_module(f"{__name__}.{module}"), function)
    return builder(config, part, shard.of_encoder)
