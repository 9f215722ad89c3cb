"""Dense decoders: the Llama family and its many near relatives, which differ in biases, norms and the shape of the MLP.

Mirrors vllm/model_executor/models/{llama,qwen2,qwen3,gemma*,phi3,glm*,olmo*,exaone*,granite,cohere,…}.py; the switches
are facts of each architecture's published layer shapes.
"""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from oomedic.models.architectures.stack import (
    Layer,
    Stack,
    embedding,
    gated_mlp,
    head,
    is_tied,
    norms,
    plain_mlp,
    qkv,
    rotary,
)
from oomedic.models.architectures.windows import windows
from oomedic.models.cache_layers import Attention
from oomedic.models.hf_config import Config, attention_heads, first, head_dim, key_value_heads, need
from oomedic.models.modules import Linear, Module, Shard, Table


class Switches(NamedTuple):
    """Where one dense architecture differs from Llama.

    ``head_norms``: none, one weight per head size ("head"), over all heads ("all") or one per head ("each").
    ``output_gate`` is a matrix of its own, ``gated_query`` a gate that is fused with the query.
    """

    qkv_bias: bool = False
    out_bias: bool = False
    mlp_bias: bool = False
    head_norms: Literal["none", "head", "all", "each"] = "none"
    norms: int = 2
    norm_bias: bool = False
    gated: bool = True
    final_norm: bool = True
    head_bias: bool = False
    tied: bool = False
    output_gate: bool = False
    gated_query: bool = False
    half_rotary: bool = False


LLAMA: Final = Switches()
DENSE: Final[Mapping[str, Switches]] = {
    "llama": LLAMA,
    "mistral": LLAMA,
    "ministral": LLAMA,
    "ministral3": LLAMA,
    "granite": LLAMA,
    "smollm3": LLAMA,
    "exaone": LLAMA,
    "internlm2": LLAMA,
    "internlm3": LLAMA,
    "xverse": LLAMA,
    "phi3": LLAMA,
    "baichuan": LLAMA,
    "aquila": LLAMA,
    "yi": LLAMA,
    "minicpm": LLAMA,
    "decilm": LLAMA,
    "qwen2": Switches(qkv_bias=True),
    "qwen2_vl_text": Switches(qkv_bias=True),
    "qwen2_5_vl_text": Switches(qkv_bias=True),
    "qwen": Switches(qkv_bias=True),
    "internlm": Switches(qkv_bias=True, out_bias=True),
    "arcee": Switches(gated=False),
    "ernie4_5": LLAMA,
    "mimo": Switches(qkv_bias=True),
    "seed_oss": Switches(qkv_bias=True),
    "chatglm": Switches(qkv_bias=True, half_rotary=True),
    "glm": Switches(qkv_bias=True),
    "glm4": Switches(norms=4),
    "glm4v_text": Switches(qkv_bias=True, norms=4),
    "glm_ocr_text": Switches(norms=4),
    "qwen3": Switches(head_norms="head"),
    "qwen3_vl_text": Switches(head_norms="head"),
    "exaone4": Switches(head_norms="head"),
    "hunyuan_v1_dense": Switches(head_norms="head"),
    "apertus": Switches(head_norms="head", gated=False),
    "olmo": Switches(norms=0, final_norm=False),
    "olmo2": Switches(head_norms="all"),
    "olmo3": Switches(head_norms="all"),
    "cohere": Switches(norms=1, tied=True),
    "cohere2": Switches(norms=1, tied=True),
    "gemma": Switches(tied=True),
    "gemma2": Switches(norms=4, tied=True),
    "gemma3_text": Switches(head_norms="head", norms=4, tied=True),
    "muse_glimmer_text": Switches(norms=4, output_gate=True),
    "phi": Switches(qkv_bias=True, out_bias=True, mlp_bias=True, norms=1, norm_bias=True, gated=False, head_bias=True),
    "starcoder2": Switches(qkv_bias=True, out_bias=True, mlp_bias=True, norm_bias=True, gated=False, tied=True),
    "gpt_neox": Switches(qkv_bias=True, out_bias=True, mlp_bias=True, norm_bias=True, gated=False),
    "stablelm": Switches(norm_bias=True),
    "nemotron": Switches(norm_bias=True, gated=False),
}
"""Model types of this family, with what sets them apart."""


def build(config: Config, shard: Shard) -> Stack:
    """Make the stack of a dense decoder."""
    switches = configured(config, DENSE[str(config["model_type"])])
    attention = attention_modules(config, shard, switches)
    mlp = _mlp(config, shard, switches)
    hidden = need(config, "hidden_size")
    modules = (*attention, *mlp, *norms(hidden, switches.norms, bias=switches.norm_bias))
    caches = attention_caches(config, shard)
    return Stack(
        tuple(Layer(modules, cache) for cache in caches),
        embedding(config, shard),
        (
            *norms(hidden, int(switches.final_norm), bias=switches.norm_bias),
            *head(config, shard, bias=switches.head_bias),
        ),
        rotary(config, shard, head_dim(config) // 2 if switches.half_rotary else None),
        is_tied(config, default=switches.tied),
    )


def configured(config: Config, switches: Switches) -> Switches:
    """Apply what the config itself says about biases and norms of heads."""
    kind = str(config["model_type"])
    if config.get("attention_bias") and kind not in {"seed_oss", "olmo2", "gemma3_text", "gemma2"}:
        switches = switches._replace(qkv_bias=True, out_bias=kind in {"llama", "granite"} or switches.out_bias)
    if config.get("mlp_bias"):
        switches = switches._replace(mlp_bias=True)
    if config.get("use_qkv_bias"):
        switches = switches._replace(qkv_bias=True)
    if kind == "internlm" and config.get("bias") is False:
        switches = switches._replace(qkv_bias=False, out_bias=False)
    if kind == "ernie4_5" and config.get("use_bias"):
        switches = switches._replace(qkv_bias=True, out_bias=True, mlp_bias=True)
    if config.get("use_qk_norm") and kind == "cohere":
        switches = switches._replace(head_norms="each")
    return switches


def attention_modules(config: Config, shard: Shard, switches: Switches, name: str = "self_attn") -> tuple[Module, ...]:
    """Return the projections of grouped-query attention and the norms of its heads."""
    heads, kept, size = attention_heads(config), key_value_heads(config), head_dim(config)
    hidden = need(config, "hidden_size")
    here = shard.divide(heads, "num_attention_heads")
    modules: list[Module] = [
        qkv(config, shard, name, heads=heads, kv_heads=kept, bias=switches.qkv_bias, gate=switches.gated_query),
        Linear(f"{name}.o_proj", here * size, (hidden,), switches.out_bias),
    ]
    if switches.output_gate:
        modules.append(Linear(f"{name}.gate_proj", hidden, (here * size,)))
    if switches.head_norms == "head":
        modules += [Table("q_norm", size), Table("k_norm", size)]
    elif switches.head_norms == "all":
        modules += [Table("q_norm", heads * size), Table("k_norm", kept * size)]
    elif switches.head_norms == "each":
        modules += [Table("q_norm", here * size), Table("k_norm", shard.key_value_heads(kept) * size)]
    return tuple(modules)


def attention_caches(config: Config, shard: Shard) -> tuple[tuple[Attention, ...], ...]:
    """Return what each layer of grouped-query attention keeps: one entry per layer, its window where it has one."""
    kept, size = shard.key_value_heads(key_value_heads(config)), head_dim(config)
    value = first(config, "v_head_dim")
    different = int(value) if value and int(value) != size else None
    seen = windows(config)
    if config.get("model_type") in shard.release.get("windowed_throughout", ()):
        seen = (next(filter(None, seen), None),) * len(seen)
    return tuple((Attention(kept, size, different, window),) for window in seen)


def _mlp(config: Config, shard: Shard, switches: Switches) -> tuple[Module, ...]:
    inner = need(config, "intermediate_size", "n_inner", "ffn_hidden_size")
    if config["model_type"] == "qwen":
        inner //= 2  # the first Qwen counts gate and up together
    width = shard.divide(inner, "intermediate_size")
    shape = gated_mlp if switches.gated else plain_mlp
    return shape(need(config, "hidden_size"), width, bias=switches.mlp_bias)
