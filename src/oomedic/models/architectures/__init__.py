"""Model architectures, one file per family; ``stack_of`` builds what one rank holds.

A model type that no family knows gives None: the size of its weights then comes from the catalogue or from the user.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Final

from oomedic.errors import InputError
from oomedic.models.architectures.encoders import encoder_of
from oomedic.models.architectures.stack import Builder, Layer, Stack
from oomedic.models.hf_config import Config, text_config
from oomedic.models.modules import Shard

__all__ = ["Layer", "Stack", "is_known", "stack_of", "with_draft"]

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

_FAMILIES: Final[Mapping[str, tuple[str, ...]]] = {
    "bert": ("bert", "xlm-roberta", "nomic_bert", "modernbert", "roberta"),
    "classic": ("opt", "falcon", "gpt2", "gpt_bigcode", "gptj", "bloom", "mpt"),
    "dbrx": ("dbrx",),
    "deepseek_v4": ("deepseek_v4", "deepseek_ref"),
    "dense": (
        "llama",
        "mistral",
        "ministral",
        "ministral3",
        "granite",
        "smollm3",
        "exaone",
        "internlm2",
        "internlm3",
        "xverse",
        "phi3",
        "baichuan",
        "aquila",
        "yi",
        "minicpm",
        "decilm",
        "qwen2",
        "qwen2_vl_text",
        "qwen2_5_vl_text",
        "qwen",
        "internlm",
        "arcee",
        "ernie4_5",
        "mimo",
        "seed_oss",
        "chatglm",
        "glm",
        "glm4",
        "glm4v_text",
        "glm_ocr_text",
        "qwen3",
        "qwen3_vl_text",
        "exaone4",
        "hunyuan_v1_dense",
        "apertus",
        "olmo",
        "olmo2",
        "olmo3",
        "cohere",
        "cohere2",
        "gemma",
        "gemma2",
        "gemma3_text",
        "muse_glimmer_text",
        "phi",
        "starcoder2",
        "gpt_neox",
        "stablelm",
        "nemotron",
    ),
    "falcon_h1": ("falcon_h1",),
    "gated_delta": ("qwen3_5_moe_text", "qwen3_next", "qwen3_5_text"),
    "gemma3n": ("gemma3n_text",),
    "gemma4": ("gemma4_unified_text", "gemma4_text"),
    "granite_hybrid": ("bamba", "granitemoehybrid"),
    "jamba": ("jamba",),
    "kimi_linear": ("kimi_linear",),
    "laguna": ("laguna",),
    "latent": (
        "mistral_large_3",
        "deepseek_v2",
        "deepseek_v32",
        "glm4_moe_lite",
        "deepseek_v3",
        "kimi_k2",
        "glm_moe_dsa",
        "deepseek_vl_v2",
        "mistral4",
        "axk1",
    ),
    "lfm2": ("lfm2", "lfm2_moe"),
    "llama4": ("llama4",),
    "mimo_v2": ("mimo_v2", "mimo_v2_flash"),
    "minimax": ("minimax_m1", "minimax_text_01", "minimax"),
    "minimax_m3": ("minimax_m3", "minimax_m3_vl_text", "minimax_m3_text"),
    "mixture": (
        "mixtral",
        "granitemoe",
        "granitemoeshared",
        "dots1",
        "deepseek",
        "qwen2_moe",
        "qwen3_moe",
        "qwen3_vl_moe_text",
        "qwen3_omni_moe_text",
        "olmoe",
        "phimoe",
        "glm4_moe",
        "glm4v_moe_text",
        "minimax_m2",
        "hunyuan_v1_moe",
        "hy_v3",
        "exaone_moe",
        "ernie4_5_moe",
        "solar_open",
        "cohere2_moe",
        "gpt_oss",
    ),
    "mllama": ("mllama_text_model",),
    "nemotron_h": ("nemotron_h",),
    "nemotron_nas": ("nemotron-nas",),
    "state_space": ("mamba2", "mamba", "falcon_mamba"),
    "step": ("step3p5", "step3p7"),
    "whisper": ("whisper",),
}
"""The model types of each module of this package; only the module of the model at hand is loaded."""

_MODULES: Final = {kind: module for module, kinds in _FAMILIES.items() for kind in kinds}


def is_known(config: Config) -> bool:
    """Tell whether a family knows the model type of this config."""
    return _model_type(config, text_config(config)) in _MODULES


def stack_of(config: Config, shard: Shard) -> Stack | None:
    """Build the language model of a config for one rank, None when its model type is not known.

    Raises:
        InputError: ``config-lacks`` when a key that the arithmetic needs is missing, ``config-malformed`` when a value
            is not what its key promises.
        UsageError: ``not-divisible`` when the model cannot be split this way.
    """
    text = text_config(config)
    kind = _model_type(config, text)
    if kind not in _MODULES:
        return None
    builder: Builder = import_module(f"{__name__}.{_MODULES[kind]}").build
    try:
        stack = builder({**text, "model_type": kind}, shard)
        return stack._replace(encoder=encoder_of(config, shard)) if stack.encoder == () else stack
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
        # a config is written by hand as often as not: a list for a number, a word for a list, no layers at all
        raise InputError("config-malformed", problem=str(error), model_type=kind) from error


def with_draft(stack: Stack, config: Config, shard: Shard) -> Stack:
    """Return the stack with the layers of the model's own multi-token prediction; see ``Stack.draft``.

    Raises:
        InputError: as ``stack_of``.
    """
    from oomedic.models.architectures.drafts import draft_of  # few engines speculate

    text = text_config(config)
    kind = _model_type(config, text)
    try:
        return stack._replace(draft=draft_of(stack, {**text, "model_type": kind}, shard))
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, StopIteration) as error:
        raise InputError("config-malformed", problem=str(error), model_type=kind) from error


def _model_type(config: Config, text: Config) -> str:
    kind = str(text.get("model_type") or config.get("model_type"))
    return _TEXT_OF.get(kind, kind)
