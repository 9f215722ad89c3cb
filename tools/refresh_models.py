"""Write data/models/*.toml from a catalogue of normalised model records.

    python tools/refresh_models.py RECORDS.jsonl [--configs DIR] [--write]

RECORDS.jsonl holds one architecture record per line (see ``hf_spelling``); DIR holds config.json files of real
checkpoints as ``org--name.json`` (and ``org--name.hf_quant_config.json``), which are preferred to what a record says.
Without --write the difference to what is stored is printed and nothing changes. Runs by hand, never at run time.
"""

import argparse
import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hf_spelling import hf_config, quantization_config, vision_config
from module_lists import fold
from toml_text import Json, table

MODELS = Path(__file__).resolve().parent.parent / "src/oomedic/data/models"
HEADER = """\
# Models of the {family} family. Written by tools/refresh_models.py; a correction belongs into its input or its tables.
#
# config is the config.json of the checkpoint as JSON text, because there null differs from absent. What changes no size
# is left out; lists of module names are folded: "layers.{{0-61}}.mlp.gate" stands for 62 names. ModelOpt's separate
# hf_quant_config.json stands in it as "hf_quant_config".
#   config_from = "config.json"  the checkpoint's own file    "catalogue"  written from a record of its architecture
# variant_of: the model whose weights this checkpoint stores quantised; base_model: what it was trained or copied from.
# parameters: what the checkpoint holds, with MTP layers; the other counts and all *_estimate figures are computed.

"""
IRRELEVANT = re.compile(
    r"_name_or_path|.*_token_id|.*_token_index|id2label|label2id|label_names|initializer_(range|factor)|attention_dropout"
    r"|hidden_dropout|embd_pdrop|resid_pdrop|dropout|transformers_version|use_cache|pretraining_tp|output_(attentions|"
    r"hidden_states|scores|router_logits)|return_dict.*|torchscript|pruned_heads|top_k|top_p|typical_p|temperature|do_sample"
    r"|.*_penalty|num_beams|num_beam_groups|num_return_sequences|no_repeat_ngram_size|encoder_no_repeat_ngram_size"
    r"|bad_words_ids|.*suppress_tokens|.*_token_ids|(max|min)_length|early_stopping|remove_invalid_values|prefix|tf_legacy_loss"
    r"|problem_type|finetuning_task|task_specific_params|tokenizer_class|use_bfloat16|tie_encoder_decoder|add_cross_attention"
    r"|cross_attention_hidden_size|chunk_size_feed_forward|is_decoder|ignore_index|.*_placeholder|time_step_(limit|min|max|"
    r"floor|scale|init_scheme)|router_aux_loss_coef|aux_loss_alpha|z_loss_coefficient|seq_aux|rescale_prenorm_residual"
    r"|_attn_implementation|gradient_clipping|image_grid_pinpoints|producer|activation_sparsity_pattern"
)
QUANTISED = re.compile(
    r"[-.](NVFP4(-FP8(KV)?)?|FP8(-dynamic|-Static-PerTensor)?|AWQ(-INT4|-4bit)?|GPTQ(-Int4|-Int8)?|int4-awq|bnb-4bit"
    r"|quantized\.w\d+a\d+|W4A16|MXFP4)$",
    re.IGNORECASE,
)
THREE_DIMENSIONAL: Mapping[str, Mapping[str, Any]] = {
    "glm4v": {"mrope_section": [8, 12, 12]},
    "glm4v_moe": {"mrope_section": [8, 12, 12]},
    "qwen2_vl": {"mrope_section": [16, 24, 24]},
    "qwen2_5_vl": {"mrope_section": [16, 24, 24]},
    "qwen3_5": {"mrope_section": [11, 11, 10], "partial_rotary_factor": 0.25},
    "qwen3_5_moe": {"mrope_section": [11, 11, 10], "partial_rotary_factor": 0.25},
    "qwen3_vl": {"mrope_section": [24, 20, 20]},
    "qwen3_vl_moe": {"mrope_section": [24, 20, 20]},
}
"""What all published configs of these model types say of their rotary positions: it sizes vLLM's tables."""
GENERATIONS = ("qwen3_5", "qwen3", "qwen2")
SAME_FAMILY = {
    "gemma2": "gemma",
    "olmo2": "olmo",
    "olmo3": "olmo",
    "phi3": "phi",
    "seed_oss": "seed",
    "smollm3": "smollm",
    "deepseek-distill": "deepseek",
    "tinyllama": "llama",
    "step3p7": "step",
    "deepseek_ref": "deepseek",
    "deepseek_v3": "deepseek",
    "deepseek_v4": "deepseek",
    "glm_moe_dsa": "glm",
    "kimi_k25": "kimi",
    "minimax_m3_vl": "minimax",
    "nemotron_h": "nemotron",
    "mixtral": "mistral",
    "bamba": "granite",
}


def main() -> None:
    """Read the arguments, show or write the difference."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", type=Path)
    parser.add_argument("--configs", type=Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    records = [json.loads(line) for line in options.records.read_text().splitlines() if line.strip()]
    rows = model_rows(records, read_configs(options.configs) if options.configs else {})
    print_difference(stored_rows(), {row["id"]: row for row in rows})
    if options.write:
        write(rows)


def read_configs(directory: Path) -> dict[str, dict[str, Any]]:
    """Read ``org--name.json`` files; hf_quant_config.json is kept inside as its own key."""
    configs: dict[str, dict[str, Any]] = {}
    for path in sorted(directory.glob("*.json")):
        name = path.name.removesuffix(".json").removesuffix(".hf_quant_config").replace("--", "/", 1)
        content = json.loads(path.read_text())
        if path.name.endswith(".hf_quant_config.json"):
            configs.setdefault(name, {})["hf_quant_config"] = content
        else:
            configs[name] = content | configs.get(name, {})
    return configs


def model_rows(records: Iterable[Mapping[str, Any]], configs: Mapping[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one row per model: the records first, then the configs that have none; of two spellings the first."""
    distinct = {record["id"].lower(): record for record in reversed(list(records))}
    rows = [_row(record, configs.get(record["id"])) for record in reversed(distinct.values())]
    known = {row["id"] for row in rows}
    alone = {name: config for name, config in configs.items() if name not in known}
    rows += [_config_row(name, config) for name, config in alone.items() if not _lost_its_quantisation(name, config)]
    by_name = {row["id"].split("/")[1].lower(): row["id"] for row in reversed(rows)}
    for row in rows:
        row["variant_of"] = _variant_of(row, by_name)
    variants = {row["id"]: row["variant_of"] for row in rows}
    for row in rows:
        if row["base_model"] and variants.get(row["base_model"]) == row["id"]:
            row["base_model"] = None
    return rows


def _row(record: Mapping[str, Any], config: dict[str, Any] | None) -> dict[str, Any]:
    params = record["params"]
    listed = (record.get("safetensors") or {}).get("gib_listed")
    return {
        "id": record["id"],
        "family": _family(record["family"], record["model_type"]),
        "tier": record["tier"],
        "base_model": record["base_model"],
        "variant_of": None,
        "gated": record["gated"],
        "licence": record["licence"],
        "parameters": params["total"],
        "active_parameters": params["computed_active"],
        "vision_parameters": params["computed_vision"],
        "audio_parameters": params["computed_audio"],
        "mtp_parameters": params["mtp_in_checkpoint"],
        "weights_bytes_estimate": record["weights_bytes_estimate"],
        "weights_bytes_method": record["weights_bytes_method"] if record["weights_bytes_estimate"] else None,
        "checkpoint_bytes_estimate": record["checkpoint_bytes_estimate"],
        "checkpoint_listed": f"{listed} GiB" if listed else None,
        "note": "; ".join(filter(None, (record["param_check_note"], record.get("correction")))) or None,
        "sources": record["source"],
        "config_from": "config.json" if config else "catalogue",
        "config": Json(_with_sections(_own(config, record) if config else hf_config(record))),
    }


def _own(config: Mapping[str, Any], record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the checkpoint's own config; a copy that lost its tower or its quantisation gets the recorded one back."""
    kept = _kept(config)
    if kept.get("model_type") == "llama4" and "vision_config" not in kept:
        kept["vision_config"] = vision_config(record)
    quantised = any("quant" in key for key in kept) or "quantization_config" in kept.get("text_config", {})
    if not quantised and record["quantization_config"]:
        kept["quantization_config"] = fold(quantization_config(record))
    return kept


def _config_row(name: str, config: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": name,
        "family": _family(_kind(config), _kind(config)),
        "tier": "config",
        "base_model": None,
        "variant_of": None,
        "sources": ["config.json of the checkpoint; no record of its totals"],
        "config_from": "config.json",
        "config": Json(_with_sections(_kept(config))),
    }


def _kept(config: Mapping[str, Any]) -> dict[str, Any]:
    kept = {}
    for key, content in config.items():
        if IRRELEVANT.fullmatch(key):
            continue
        if key in {"quantization_config", "hf_quant_config"}:
            kept[key] = fold(_kept(content))
        elif isinstance(content, Mapping):
            kept[key] = _kept(content)
        else:
            kept[key] = content
    return kept


def _lost_its_quantisation(name: str, config: Mapping[str, Any]) -> bool:
    told = any("quant" in key for key in (*config, *(config.get("text_config") or ())))
    return bool(QUANTISED.search(name)) and not told


def _with_sections(config: dict[str, Any]) -> dict[str, Any]:
    """Give a config back the sections of its positions in time, height and width, where a copy of it lost them."""
    if config.get("model_type") not in THREE_DIMENSIONAL:
        return config
    text = config.get("text_config")
    holder = text if isinstance(text, Mapping) else config
    key = "rope_parameters" if "rope_parameters" in holder else "rope_scaling"
    scaling = {"rope_type": "default", **THREE_DIMENSIONAL[config["model_type"]], **(holder.get(key) or {})}
    told = {**holder, key: scaling}
    return {**config, "text_config": told} if isinstance(text, Mapping) else told


def _family(family: str, model_type: str) -> str:
    generation = next((name for name in GENERATIONS if model_type.startswith(name)), None)
    if family.startswith("qwen") and generation:
        return generation
    return SAME_FAMILY.get(family, family)


def _kind(config: Mapping[str, Any]) -> str:
    return str(config["model_type"])


def _variant_of(row: Mapping[str, Any], by_name: Mapping[str, str]) -> str | None:
    """Return the model whose weights a quantised row stores: by its name, else as recorded."""
    name = row["id"].split("/")[1].removeprefix("Meta-")
    plain = QUANTISED.sub("", name)
    if plain == name:
        return None
    for candidate in (plain, f"Meta-{plain}", f"{plain}-BF16", f"{plain}-hf"):
        if candidate.lower() in by_name:
            return by_name[candidate.lower()]
    recorded: str | None = row["base_model"]
    return recorded


def write(rows: Iterable[Mapping[str, Any]]) -> None:
    """Write one file per family."""
    families: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        families.setdefault(row["family"], []).append(row)
    MODELS.mkdir(parents=True, exist_ok=True)
    for family, members in families.items():
        text = "\n".join(table("model", row) for row in members)
        (MODELS / f"{family}.toml").write_text(HEADER.format(family=family) + text)


def stored_rows() -> dict[str, dict[str, Any]]:
    """Return what data/models holds now."""
    rows: dict[str, dict[str, Any]] = {}
    for path in sorted(MODELS.glob("*.toml")):
        rows |= {row["id"]: row for row in tomllib.loads(path.read_text()).get("model", [])}
    return rows


def print_difference(old: Mapping[str, Mapping[str, Any]], new: Mapping[str, Mapping[str, Any]]) -> None:
    """Print which models come, go and change, and which keys of them."""
    for name in sorted(old.keys() | new.keys()):
        if name not in old:
            print(f"+ {name}")
        elif name not in new:
            print(f"- {name}")
        else:
            changed = [key for key, content in new[name].items() if _plain(content) != _plain(old[name].get(key))]
            if changed:
                print(f"~ {name}: {', '.join(changed)}")


def _plain(content: Any) -> Any:
    if isinstance(content, Json):
        return content.data
    return json.loads(content) if isinstance(content, str) and content.startswith("{") else content


if __name__ == "__main__":
    main()
