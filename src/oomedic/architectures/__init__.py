"""Model architectures, one file per family; ``stack_of`` builds what one rank holds.

A model type that no family knows gives None: the size of its weights then comes from the catalogue or from the user.
"""

from collections.abc import Mapping
from typing import Final

from oomedic.architectures import (
    bert,
    classic,
    dbrx,
    deepseek_v4,
    dense,
    falcon_h1,
    gated_delta,
    gemma3n,
    gemma4,
    granite_hybrid,
    jamba,
    kimi_linear,
    laguna,
    latent,
    lfm2,
    llama4,
    mimo_v2,
    minimax,
    minimax_m3,
    mixture,
    mllama,
    nemotron_h,
    nemotron_nas,
    state_space,
    step,
    whisper,
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
    "minimax_m3_vl": "minimax_m3",
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
    **dict.fromkeys(bert.BERTS, bert.build),
    **dict.fromkeys(classic.CLASSIC, classic.build),
    **dict.fromkeys(lfm2.LFM2, lfm2.build),
    **dict.fromkeys(minimax_m3.MINIMAX_M3, minimax_m3.build),
    **dict.fromkeys(minimax.MINIMAX_01, minimax.build),
    **dict.fromkeys(step.STEP, step.build),
    "dbrx": dbrx.build,
    "kimi_linear": kimi_linear.build,
    "nemotron-nas": nemotron_nas.build,
    "whisper": whisper.build,
    "laguna": laguna.build,
    "mllama_text_model": mllama.build,
    "jamba": jamba.build,
    "nemotron_h": nemotron_h.build,
    "llama4": llama4.build,
}


def is_known(config: Config) -> bool:
    """Tell whether a family knows the model type of this config."""
    return _model_type(config, text_config(config)) in _BUILDERS


def stack_of(config: Config, shard: Shard) -> Stack | None:
    """Build the language model of a config for one rank, None when its model type is not known.

    Raises:
        InputError: ``config-lacks`` when a key that the arithmetic needs is missing.
        UsageError: ``not-divisible`` when the model cannot be split this way.
    """
    text = text_config(config)
    kind = _model_type(config, text)
    builder = _BUILDERS.get(kind)
    if builder is None:
        return None
    stack = builder({**text, "model_type": kind}, shard)
    return stack._replace(encoder=encoder_of(config, shard)) if stack.encoder == () else stack


def _model_type(config: Config, text: Config) -> str:
    kind = str(text.get("model_type") or config.get("model_type"))
    return _TEXT_OF.get(kind, kind)
