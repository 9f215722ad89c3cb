"""Write a normalised model record as the config.json of its model_type would spell it.

The records that ``refresh_models.py`` reads carry one vocabulary for all architectures (``moe.num_experts``,
``mla.kv_lora_rank``, ``layer_pattern``); Hugging Face spells each of them per model_type. Only tables and one function
per irregular architecture: everything else is a rename.
"""

from collections.abc import Mapping
from typing import Any, Final

from hf_irregular import IRREGULAR, WHOLE, layer_kinds
from hf_tables import (
    CONSTANTS,
    EXPERT_NAMES,
    EXPERT_SPELLING,
    FLAT,
    FP8_INPUTS,
    GEMMA4_SMALL_TOWER_WIDTH,
    INTERN_VIT_6B_WIDTH,
    LATENT,
    LISTED_KINDS,
    OVERRIDES,
    TEXT_KEY,
    UNQUANTIZED,
    WITHOUT_HEAD_DIM,
)
from oomedic.models.storage_words import LEFT_ALONE

Record = Mapping[str, Any]
Config = dict[str, Any]

COMMON: Final = (
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "vocab_size",
    "max_position_embeddings",
    "sliding_window",
)


def hf_config(record: Record) -> Config:
    """Return the record as a config.json."""
    return _spelled(record) | OVERRIDES.get(record["id"], {})


def _spelled(record: Record) -> Config:
    kind = record["model_type"]
    if kind in WHOLE:
        return _head(record) | WHOLE[kind](record)
    text_kind = record.get("text_model_type")
    if text_kind is None:
        return _head(record) | text_config(record, kind)
    if kind in FLAT:
        text = text_config(record, text_kind) | {"model_type": kind}
        return _head(record) | text | {"vision_config": vision_config(record)}
    return _head(record) | _nested(record, kind, text_kind)


def text_config(record: Record, kind: str) -> Config:
    """Return the language model's part, without architectures, dtype and quantisation."""
    config: Config = {"model_type": kind}
    config |= {key: record[key] for key in COMMON if key in record}
    config |= CONSTANTS.get(kind, {})
    if record.get("mla"):
        config |= {key: record["mla"][key] for key in LATENT}
    if record.get("mla") or kind in WITHOUT_HEAD_DIM:
        config.pop("head_dim", None)
    if config.get("intermediate_size") is None:
        config.pop("intermediate_size", None)
    config |= expert_keys(record, kind) | _plain_hybrid(record) | _extra(record)
    layers = layer_kinds(record)
    if len(set(layers)) > 1 and set(layers) <= LISTED_KINDS and kind != "jamba":
        config["layer_types"] = layers
    config["tie_word_embeddings"] = record["tie_word_embeddings"]
    return config | IRREGULAR.get(kind, _nothing)(record)


def expert_keys(record: Record, kind: str) -> Config:
    """Return the mixture-of-experts keys as that model_type spells them."""
    moe = record.get("moe")
    if not moe:
        return {}
    spelling = EXPERT_NAMES | EXPERT_SPELLING.get(kind, {})
    named = {spelling[key]: value for key, value in moe.items() if value is not None}
    return {key: value for key, value in named.items() if key is not None}


def vision_config(record: Record) -> Config:
    """Return the vision tower as recorded, with what its kind always has; the keys are Hugging Face's already."""
    tower = {key: value for key, value in (record.get("vision") or {}).items() if key != "params"}
    kind = tower.get("model_type")
    if kind == "intern_vit_6b" and tower["hidden_size"] == INTERN_VIT_6B_WIDTH:
        return tower | {"norm_type": "rms_norm", "qk_normalization": True, "qkv_bias": False}
    if kind == "llama4_vision_model":
        return tower | {"projector_input_dim": tower["vision_output_dim"]}
    if kind == "gemma4_vision":
        heads = tower["num_attention_heads"]
        large = tower["hidden_size"] > GEMMA4_SMALL_TOWER_WIDTH
        tower |= {"head_dim": tower["hidden_size"] // heads, "num_key_value_heads": heads}
        return tower | {"standardize": large, "use_clipped_linears": not large}
    if kind == "siglip_vision_model" and record["model_type"] == "llava_onevision":
        return tower | {"vision_use_head": False}
    return tower


def quantization_config(record: Record) -> Config | None:
    """Return the quantisation block; a record may name the weights of compressed-tensors without their group."""
    block = dict(record.get("quantization_config") or {})
    if not block:
        return None
    for key in ("ignore", "modules_to_not_convert"):
        if isinstance(block.get(key), str):
            block[key] = UNQUANTIZED[record["id"]]
    if block.get("ignore") == ["lm_head"] and record.get("vision"):
        block["ignore"] = list(LEFT_ALONE)  # the record names the language model's part only
    if block["quant_method"] != "compressed-tensors" or "config_groups" in block:
        return block
    weights = block["weights"]
    inputs = block.get("input_activations") or (FP8_INPUTS if weights["type"] == "float" else None)
    group = {"targets": ["Linear"], "weights": weights, "input_activations": inputs}
    return {
        "quant_method": "compressed-tensors",
        "format": block["format"],
        "config_groups": {"group_0": group},
        "ignore": block.get("ignore", list(LEFT_ALONE)),
    }


def _head(record: Record) -> Config:
    config: Config = {"architectures": record["architectures"], "torch_dtype": record["torch_dtype"]}
    block = quantization_config(record)
    return config | ({"quantization_config": block} if block else {})


def _nested(record: Record, kind: str, text_kind: str) -> Config:
    spelled = {"pixtral_llava": "llava"}.get(kind, kind)
    config: Config = {"model_type": spelled} | CONSTANTS.get(kind, {})
    text = text_config(record, text_kind)
    if kind == "idefics3":
        config["scale_factor"] = _idefics_scale(record)
    config[TEXT_KEY.get(kind, "text_config")] = text
    config["tie_word_embeddings"] = record["tie_word_embeddings"]
    if record.get("vision"):
        config["vision_config"] = vision_config(record)
    return config


def _idefics_scale(record: Record) -> int:
    """Solve the connector (hidden x scale**2 x text hidden) for its scale."""
    tower = record["vision"]
    size, layers, inner = (tower[key] for key in ("hidden_size", "num_hidden_layers", "intermediate_size"))
    patches = (tower["image_size"] // tower["patch_size"]) ** 2
    body = 3 * tower["patch_size"] ** 2 * size + size + patches * size + 2 * size
    body += layers * (4 * (size * size + size) + 2 * size * inner + inner + size + 4 * size)
    return round(((tower["params"] - body) / (size * record["hidden_size"])) ** 0.5)


def _extra(record: Record) -> Config:
    skipped = {"v_head_dim"} if record.get("mla") else set()
    return {key: value for key, value in (record.get("extra") or {}).items() if key not in skipped}


def _plain_hybrid(record: Record) -> Config:
    return {key: value for key, value in (record.get("hybrid") or {}).items() if value is not None}


def _nothing(_record: Record) -> Config:
    return {}
