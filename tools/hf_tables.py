"""What Hugging Face calls things, per model_type: names of expert keys, constants, and single exceptions."""

from collections.abc import Mapping
from typing import Any, Final

Config = dict[str, Any]

_ROUTED: Final = {"num_experts": "n_routed_experts"}
_LOCAL: Final = {"num_experts": "num_local_experts", "moe_intermediate_size": None}
EXPERT_NAMES: Final = {
    "num_experts": "num_experts",
    "experts_per_token": "num_experts_per_tok",
    "moe_intermediate_size": "moe_intermediate_size",
    "shared_experts": "n_shared_experts",
    "shared_expert_intermediate_size": "shared_expert_intermediate_size",
    "first_k_dense": "first_k_dense_replace",
    "dense_intermediate_size": "intermediate_size_mlp",
    "dense_layers": None,
}
EXPERT_SPELLING: Final[Mapping[str, Mapping[str, str | None]]] = {
    "mixtral": _LOCAL,
    "phimoe": _LOCAL,
    "granitemoe": _LOCAL,
    "gpt_oss": _LOCAL,
    "minimax": _LOCAL,
    "minimax_m2": _LOCAL | {"shared_expert_intermediate_size": "shared_intermediate_size"},
    "granitemoehybrid": _LOCAL | {"shared_expert_intermediate_size": "shared_intermediate_size"},
    "llama4_text": _LOCAL,
    "olmoe": {"moe_intermediate_size": None},
    "jamba": {"moe_intermediate_size": None},
    "deepseek": _ROUTED,
    "deepseek_v2": _ROUTED,
    "deepseek_v3": _ROUTED,
    "deepseek_v32": _ROUTED,
    "kimi_k2": _ROUTED,
    "mistral4": _ROUTED,
    "glm4_moe": _ROUTED,
    "glm4_moe_lite": _ROUTED,
    "glm4v_moe_text": _ROUTED,
    "glm_moe_dsa": _ROUTED,
    "solar_open": _ROUTED,
    "nemotron_h": _ROUTED | {"shared_expert_intermediate_size": "moe_shared_expert_intermediate_size"},
    "exaone_moe": {"shared_experts": "num_shared_experts"},
    "hy_v3": {"shared_experts": "num_shared_experts"},
    "hunyuan_v1_moe": {"experts_per_token": "moe_topk", "shared_experts": "num_shared_expert"},
    "kimi_linear": {"experts_per_token": "num_experts_per_token", "shared_experts": "num_shared_experts"},
    "gemma4_text": {"experts_per_token": "top_k_experts"},
    "ernie4_5_moe": {
        "num_experts": "moe_num_experts",
        "experts_per_token": "moe_k",
        "shared_experts": "moe_num_shared_experts",
        "first_k_dense": "moe_layer_start_index",
    },
}

CONSTANTS: Final[Mapping[str, Config]] = {
    "qwen2_moe": {"decoder_sparse_step": 1, "mlp_only_layers": []},
    "qwen3_moe": {"decoder_sparse_step": 1, "mlp_only_layers": []},
    "qwen3_vl_moe_text": {"decoder_sparse_step": 1, "mlp_only_layers": []},
    "qwen3_next": {"decoder_sparse_step": 1, "mlp_only_layers": [], "full_attention_interval": 4},
    "qwen3_5_text": {"full_attention_interval": 4},
    "qwen3_5_moe_text": {"full_attention_interval": 4},
    "deepseek_v2": {"moe_layer_freq": 1, "topk_method": "greedy"},
    "deepseek_v3": {"moe_layer_freq": 1, "topk_method": "noaux_tc"},
    "deepseek_v32": {"moe_layer_freq": 1, "topk_method": "noaux_tc"},
    "kimi_k2": {"moe_layer_freq": 1, "topk_method": "noaux_tc"},
    "glm4_moe_lite": {"topk_method": "noaux_tc"},
    "glm_moe_dsa": {"topk_method": "noaux_tc"},
    "phi": {"partial_rotary_factor": 0.4},
    "starcoder2": {"use_bias": True},
    "hunyuan_v1_dense": {"use_qk_norm": True},
    "hunyuan_v1_moe": {"use_qk_norm": True},
    "xlm-roberta": {"type_vocab_size": 1},
    "bert": {"type_vocab_size": 2},
    "mistral3": {"spatial_merge_size": 2},
    "internvl_chat": {"downsample_ratio": 0.5},
    "lfm2": {"block_auto_adjust_ff_dim": True, "block_multiple_of": 256, "block_ffn_dim_multiplier": 1.0},
    "lfm2_moe": {"num_dense_layers": 2},
    "laguna": {"gating": True},
    "gemma3": {"mm_tokens_per_image": 256},
    "falcon_h1": {"mamba_rms_norm": True},
}
"""What every config.json of that type holds and no record repeats."""

WITHOUT_HEAD_DIM: Final = {"bert", "xlm-roberta", "falcon_mamba", "mamba"}
LATENT: Final = ("kv_lora_rank", "q_lora_rank", "qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim")
LISTED_KINDS: Final = {
    "full_attention",
    "sliding_attention",
    "chunked_attention",
    "linear_attention",
    "mamba",
    "attention",
    "conv",
}
INTERN_VIT_6B_WIDTH: Final = 3200
GEMMA4_SMALL_TOWER_WIDTH: Final = 768
TEXT_KEY: Final = {"internvl_chat": "llm_config"}
FLAT: Final = {"qwen2_vl", "qwen2_5_vl"}
"""Vision models whose text keys stand at the top of config.json."""


OVERRIDES: Final[Mapping[str, Config]] = {
    "tiiuae/falcon-11B": {"num_ln_in_parallel_attn": 1},
    "tiiuae/Falcon-H1-0.5B-Instruct": {"mamba_rms_norm": False},
}
"""Checkpoints that differ from their model_type in a key that the record does not carry: parameter totals show it."""

FP8_INPUTS: Final[Config] = {"num_bits": 8, "type": "float", "strategy": "token", "dynamic": True}
"""How every fp8 recipe of compressed-tensors quantises inputs, where the record names the weights alone."""

UNQUANTIZED: Final[Mapping[str, list[str]]] = {
    "moonshotai/Kimi-K2-Thinking": [  # as the config.json of Kimi-K2.5, the next release, says
        "lm_head",
        "re:.*self_attn.*",
        "re:.*shared_experts.*",
        "re:.*mlp\\.(gate|up|gate_up|down)_proj.*",
    ],
    "meta-llama/Llama-3.1-405B-Instruct-FP8": [
        "lm_head",
        *(f"model.layers.{layer}.self_attn.{part}_proj" for layer in range(126) for part in "qkvo"),
        *(f"model.layers.{layer}.mlp.{part}_proj" for layer in (0, 125) for part in ("gate", "up", "down")),
    ],
    "meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8": [
        "re:.*lm_head",
        "re:.*self_attn",
        "re:.*router",
        "re:.*shared_expert",
        "re:.*vision_model",
        "re:.*multi_modal_projector",
    ],
}
"""Modules that a recipe leaves alone, where the record says it in words."""
