"""Model architectures, one file per family; ``stack_of`` builds what one rank holds.

A model type that no family knows gives None: the size of its weights then comes from the catalogue or from the user.
"""

from collections.abc import Mapping
from typing import Final

from oomedic.architectures import (
    deepseek_v4,
    dense,
    falcon_h1,
    gated_delta,
    gemma3n,
    gemma4,
    granite_hybrid,
    jamba,
    laguna,
    latent,
    llama4,
    mimo_v2,
    mixture,
    mllama,
    nemotron_h,
    state_space,
)
from oomedic.architectures.encoders import encoder_of
from oomedic.architectures.stack import Builder, Layer, Stack
from oomedic.hf_config import Config, text_config
from oomedic.modules import Shard

__all__ = ["Layer", "Stack", "is_known", "stack_of"]

_TEXT_OF: Final = {
    "gemma3": "gemma3_text",
    "gemma3n": "gemma3n_text",
    "gemma4": "gemma4_text",
    "qwen2_vl": "qwen2",
    "qwen2_5_vl": "qwen2",
    "qwen2_audio": "qwen2",
    "llama4_text": "llama4",
    "qwen3_vl": "qwen3_vl_text",
    "qwen3_5": "qwen3_5_text",
    "qwen3_5_moe": "qwen3_5_moe_text",
    "pixtral": "mistral",
}
"""Model types whose config holds the language model without nesting it, or under another name."""

_BUILDERS: Final[Mapping[str, Builder]] = {
    **dict.fromkeys(dense.DENSE, dense.build),
    **dict.fromkeys(mixture.MIXTURES, mixture.build),
    **dict.fromkeys(latent.LATENT, latent.build),
    **dict.fromkeys(gated_delta.GATED_DELTA, gated_delta.build),
    **dict.fromkeys(state_space.STATE_SPACE, state_space.build),
    **dict.fromkeys(granite_hybrid.GRANITE_HYBRIDS, granite_hybrid.build),
    "falcon_h1": falcon_h1.build,
    **dict.fromkeys(gemma4.GEMMA4, gemma4.build),
    "gemma3n_text": gemma3n.build,
    **dict.fromkeys(mimo_v2.MIMO_V2, mimo_v2.build),
    **dict.fromkeys(deepseek_v4.DEEPSEEK_V4, deepseek_v4.build),
    "laguna": laguna.build,
    "mllama_text_model": mllama.build,
    "jamba": jamba.build,
    "nemotron_h": nemotron_h.build,
    "llama4": llama4.build,
}


def is_known(config: Config) -> bool:
    """Tell whether a family knows the model type of this config."""
    return _model_type(text_config(config)) in _BUILDERS


def stack_of(config: Config, shard: Shard) -> Stack | None:
    """Build the language model of a config for one rank, None when its model type is not known.

    Raises:
        InputError: ``config-lacks`` when a key that the arithmetic needs is missing.
        UsageError: ``not-divisible`` when the model cannot be split this way.
    """
    text = text_config(config)
    kind = _model_type(text)
    builder = _BUILDERS.get(kind)
    if builder is None:
        return None
    return builder({**text, "model_type": kind}, shard)._replace(encoder=encoder_of(config, shard))


def _model_type(text: Config) -> str:
    kind = str(text.get("model_type"))
    return _TEXT_OF.get(kind, kind)
