"""Architectures whose config.json needs more than renamed keys."""

from collections.abc import Callable, Mapping
from typing import Any, Final

Record = Mapping[str, Any]
Config = dict[str, Any]


def layer_kinds(record: Record) -> list[str]:
    """Return the kind of every layer, in order."""
    pattern = record.get("layer_pattern") or {}
    if "runs" in pattern:
        return [kind for kind, count in pattern["runs"] for _ in range(count)]
    unit = pattern.get("unit") or []
    layers = record["num_hidden_layers"]
    return [unit[index % len(unit)] for index in range(layers)] if unit else []


def _dense_then_sparse(record: Record) -> Config:
    dense = set((record["moe"] or {}).get("dense_layers") or ())
    layers = record["num_hidden_layers"]
    return {"mlp_layer_types": ["dense" if index in dense else "sparse" for index in range(layers)]}


def _glm_sparse(record: Record) -> Config:
    return _dense_then_sparse(record) if "dense_layers" in record["moe"] else {}


def _first_dense(record: Record) -> Config:
    return {"first_k_dense_replace": len(record["moe"]["dense_layers"])}


def _granite_hybrid(record: Record) -> Config:
    if record.get("moe"):
        return {}
    return {
        "num_local_experts": 0,
        "shared_intermediate_size": record["intermediate_size"],
        "layer_types": layer_kinds(record),
    }


def _nemotron_h(record: Record) -> Config:
    if "hybrid_override_pattern" in (record.get("hybrid") or {}):
        return {}
    names = {"mamba2": "mamba", "full_attention": "attention"}
    return {"layers_block_type": [names.get(kind, kind) for kind in layer_kinds(record)]}


def _jamba(record: Record) -> Config:
    return {} if record.get("moe") else {"num_experts": 1, "num_experts_per_tok": 1}


def _falcon_h1(record: Record) -> Config:
    hybrid = record["hybrid"]
    return {"mamba_d_head": hybrid["mamba_d_ssm"] // hybrid["mamba_n_heads"]}


def _gemma4(record: Record) -> Config:
    return {"enable_moe_block": bool(record.get("moe"))}


def _ernie(record: Record) -> Config:
    return {"moe_layer_interval": 1, "moe_layer_end_index": record["num_hidden_layers"] - 1}


IRREGULAR: Final[Mapping[str, Callable[[Record], Config]]] = {
    "laguna": _dense_then_sparse,
    "glm_moe_dsa": _glm_sparse,
    "hy_v3": _first_dense,
    "granitemoehybrid": _granite_hybrid,
    "nemotron_h": _nemotron_h,
    "jamba": _jamba,
    "falcon_h1": _falcon_h1,
    "gemma4_text": _gemma4,
    "ernie4_5_moe": _ernie,
}


def _opt(record: Record) -> Config:
    extra = record["extra"]
    kept = ("hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size", "max_position_embeddings")
    return (
        {"model_type": "opt"}
        | {key: record[key] for key in kept}
        | {
            "ffn_dim": extra["ffn_dim"],
            "word_embed_proj_dim": extra["word_embed_proj_dim"],
            "do_layer_norm_before": extra["word_embed_proj_dim"] == record["hidden_size"],
            "tie_word_embeddings": record["tie_word_embeddings"],
        }
    )


def _falcon(record: Record) -> Config:
    multi_query = record["num_key_value_heads"] == 1
    return {
        "model_type": "falcon",
        "hidden_size": record["hidden_size"],
        "ffn_hidden_size": record["intermediate_size"],
        "num_hidden_layers": record["num_hidden_layers"],
        "num_attention_heads": record["num_attention_heads"],
        "num_kv_heads": record["num_key_value_heads"],
        "new_decoder_architecture": not multi_query,
        "multi_query": True,
        "parallel_attn": True,
        "bias": False,
        "alibi": False,
        "vocab_size": record["vocab_size"],
        "max_position_embeddings": record["max_position_embeddings"],
        "tie_word_embeddings": record["tie_word_embeddings"],
    }


def _gpt2_names(record: Record) -> Config:
    return {
        "n_embd": record["hidden_size"],
        "n_inner": record["intermediate_size"],
        "n_layer": record["num_hidden_layers"],
        "n_head": record["num_attention_heads"],
        "n_positions": record["max_position_embeddings"],
        "vocab_size": record["vocab_size"],
        "tie_word_embeddings": record["tie_word_embeddings"],
    }


def _gpt_bigcode(record: Record) -> Config:
    return {"model_type": "gpt_bigcode", "multi_query": record["num_key_value_heads"] == 1} | _gpt2_names(record)


def _nomic(record: Record) -> Config:
    return {"model_type": "nomic_bert", "type_vocab_size": 2} | _gpt2_names(record)


def _dbrx(record: Record) -> Config:
    moe = record["moe"]
    return {
        "model_type": "dbrx",
        "d_model": record["hidden_size"],
        "n_layers": record["num_hidden_layers"],
        "n_heads": record["num_attention_heads"],
        "max_seq_len": record["max_position_embeddings"],
        "vocab_size": record["vocab_size"],
        "attn_config": {"kv_n_heads": record["num_key_value_heads"]},
        "ffn_config": {
            "ffn_hidden_size": moe["moe_intermediate_size"],
            "moe_num_experts": moe["num_experts"],
            "moe_top_k": moe["experts_per_token"],
        },
        "tie_word_embeddings": record["tie_word_embeddings"],
    }


def _whisper(record: Record) -> Config:
    encoder = record["encoder"]
    return {
        "model_type": "whisper",
        "is_encoder_decoder": True,
        "d_model": record["hidden_size"],
        "decoder_layers": record["num_hidden_layers"],
        "decoder_attention_heads": record["num_attention_heads"],
        "decoder_ffn_dim": record["intermediate_size"],
        "max_target_positions": record["max_position_embeddings"],
        "vocab_size": record["vocab_size"],
        "tie_word_embeddings": record["tie_word_embeddings"],
    } | dict(encoder)


WHOLE: Final[Mapping[str, Callable[[Record], Config]]] = {
    "opt": _opt,
    "falcon": _falcon,
    "gpt_bigcode": _gpt_bigcode,
    "nomic_bert": _nomic,
    "dbrx": _dbrx,
    "whisper": _whisper,
}
"""Architectures whose keys are not the common ones at all."""
