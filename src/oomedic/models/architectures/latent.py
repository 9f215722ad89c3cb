"""Multi-head latent attention: DeepSeek V2 and V3, Kimi K2, GLM 5 and their kin, with or without a sparse indexer.

Mirrors vllm/model_executor/models/deepseek_v2.py: the projections into the latent space are replicated on every rank,
those out of it are split by heads. Releases before MLA (below 0.7) keep full heads in the cache.
"""

from typing import Final

from oomedic.models.architectures.mixture import Mixture, dense_layer_indices, expert_modules
from oomedic.models.architectures.stack import Layer, Stack, embedding, gated_mlp, head, is_tied, norms, rotary
from oomedic.models.cache_layers import Latent
from oomedic.models.hf_config import Config, attention_heads, first, layer_count, need, number
from oomedic.models.modules import Linear, Module, Shard, Table

LATENT: Final = frozenset(
    {
        "deepseek_v2",
        "deepseek_v3",
        "deepseek_v32",
        "kimi_k2",
        "glm_moe_dsa",
        "glm4_moe_lite",
        "mistral4",
        "mistral_large_3",
        "axk1",
        "deepseek_vl_v2",
    }
)
"""Model types of this family."""
_NO_CORRECTION: Final = frozenset({"deepseek_v2", "mistral4", "mistral_large_3"})


def build(config: Config, shard: Shard) -> Stack:
    """Make the stack of a model with latent attention."""
    hidden = need(config, "hidden_size")
    dense_layers, indexed_layers = dense_layer_indices(config), _indexed_layers(config)
    parts = {
        True: expert_modules(config, shard, _mixture(config)),
        False: _dense_mlp(config, shard) if dense_layers else (),
    }
    attention = (*attention_modules(config, shard), *norms(hidden, 2))
    indexer = _indexer(config, shard)
    caches = {indexed: (latent(config, shard, indexed=indexed),) for indexed in (True, False)}
    layers = {
        (indexed, sparse): Layer((*attention, *(indexer if indexed else ()), *parts[sparse]), caches[indexed])
        for indexed in (True, False)
        for sparse in (True, False)
    }
    return Stack(
        tuple(layers[index in indexed_layers, index not in dense_layers] for index in range(layer_count(config))),
        embedding(config, shard),
        (*norms(hidden, 1), *head(config, shard)),
        _rotary(config, shard),
        is_tied(config),
    )


def attention_modules(config: Config, shard: Shard) -> tuple[Module, ...]:
    """Return the latent projections (replicated) and the per-head ones (split)."""
    hidden, heads = need(config, "hidden_size"), shard.divide(attention_heads(config), "num_attention_heads")
    nope, rope = need(config, "qk_nope_head_dim"), need(config, "qk_rope_head_dim")
    value, rank = need(config, "v_head_dim"), need(config, "kv_lora_rank")
    query_rank = first(config, "q_lora_rank")
    name = "self_attn"
    modules: list[Module] = []
    if query_rank:
        modules.append(
            Linear(
                f"{name}.fused_qkv_a_proj",
                hidden,
                (int(query_rank), rank + rope),
                parts=(f"{name}.q_a_proj", f"{name}.kv_a_proj_with_mqa"),
            )
        )
        modules.append(Table("q_a_layernorm", int(query_rank)))
        modules.append(
            Linear(f"{name}.q_b_proj", int(query_rank), (heads * (nope + rope),), parts=(f"{name}.q_b_proj",))
        )
    else:
        modules.append(Linear(f"{name}.q_proj", hidden, (heads * (nope + rope),), parts=(f"{name}.q_proj",)))
        modules.append(
            Linear(f"{name}.kv_a_proj_with_mqa", hidden, (rank + rope,), parts=(f"{name}.kv_a_proj_with_mqa",))
        )
    modules += [
        Table("kv_a_layernorm", rank),
        Linear(f"{name}.kv_b_proj", rank, (heads * (nope + value),), parts=(f"{name}.kv_b_proj",)),
        Linear(f"{name}.o_proj", heads * value, (hidden,), parts=(f"{name}.o_proj",)),
    ]
    return tuple(modules)


def latent(config: Config, shard: Shard, *, indexed: bool = True) -> Latent:
    """Return what one layer keeps: the same latent row on every rank, and the keys of its own indexer."""
    return Latent(
        need(config, "kv_lora_rank") + need(config, "qk_rope_head_dim"),
        shard.divide(attention_heads(config), "num_attention_heads"),
        need(config, "qk_nope_head_dim") + need(config, "qk_rope_head_dim"),
        first(config, "index_head_dim") if indexed else None,
    )


def _indexed_layers(config: Config) -> frozenset[int]:
    """Return the layers with a sparse indexer of their own; the others use the choice of an earlier layer."""
    if not config.get("index_topk"):
        return frozenset()
    count = layer_count(config)
    pattern = config.get("index_topk_pattern")
    if pattern:
        return frozenset(index for index, letter in enumerate(pattern) if letter != "S")
    every, offset = (
        number(config, "index_topk_freq", default=1),
        number(config, "index_skip_topk_offset", default=2),
    )
    return frozenset(index for index in range(count) if max(index - offset + 1, 0) % every == 0)


def _indexer(config: Config, shard: Shard) -> tuple[Module, ...]:
    if not config.get("index_topk"):
        return ()
    heads, size = need(config, "index_n_heads"), need(config, "index_head_dim")
    hidden = need(config, "hidden_size")
    name = "self_attn.indexer"
    if shard.release.get("indexer_fused", True):
        key: tuple[Module, ...] = (Linear(f"{name}.wk_weights_proj", hidden, (size, heads), quantized=False),)
    else:
        key = (Linear(f"{name}.wk", hidden, (size,)), Linear(f"{name}.weights_proj", hidden, (heads,), quantized=False))
    return (
        Linear(f"{name}.wq_b", need(config, "q_lora_rank"), (heads * size,)),
        *key,
        Table(f"{name}.k_norm", 2 * size, "float32"),
    )


def _rotary(config: Config, shard: Shard) -> tuple[Module, ...]:
    table = rotary(config, shard, need(config, "qk_rope_head_dim"))
    # an indexer that rotates like the attention shares its table
    apart = config.get("index_topk") and not config.get("indexer_rope_interleave")
    return table * 2 if apart and shard.release.get("indexer_rotary", True) else table


def _mixture(config: Config) -> Mixture:
    kind = str(config["model_type"])
    corrected = kind not in _NO_CORRECTION and config.get("topk_method", "noaux_tc") == "noaux_tc"
    return Mixture(router_correction=corrected, router_dtype="float32" if kind == "glm4_moe_lite" else None)


def _dense_mlp(config: Config, shard: Shard) -> tuple[Module, ...]:
    return gated_mlp(need(config, "hidden_size"), shard.divide(need(config, "intermediate_size"), "intermediate_size"))
