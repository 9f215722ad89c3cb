"""DeepSeek V4: a compressed key per few tokens, a window of exact ones, hyper-connections between layers.

Mirrors vllm/models/deepseek_v4: what leads into the compressed space is replicated on every rank, heads and output
groups are split.
"""

from oomedic.errors import InputError
from oomedic.models.architectures.stack import Layer, Stack, embedding, gated_mlp, head, is_tied, norms, rotary
from oomedic.models.cache_layers import Compressed
from oomedic.models.hf_config import Config, attention_heads, layer_count, need, number
from oomedic.models.modules import Experts, Linear, Module, Shard, Table, round_up

DEEPSEEK_V4 = frozenset({"deepseek_v4", "deepseek_ref"})
"""Model types of this family."""
INDEXED_RATIO = 4
"""Layers that compress this many tokens into one also have a sparse indexer."""
_SINK_HEADS = 64


def build(config: Config, shard: Shard) -> Stack:
    """Make the stack of DeepSeek V4."""
    hidden, count = need(config, "hidden_size"), layer_count(config)
    ratios = _ratios(config, count)
    hashed = number(config, "num_hash_layers", default=0)
    common = (*_attention(config, shard), *_experts(config, shard), *_connections(config), *norms(hidden, 2))
    kinds = {
        (ratio, routed): (*common, *_compression(config, ratio), _router(config, hashed=routed))
        for ratio in set(ratios)
        for routed in (True, False)
    }
    caches = {ratio: (_cache(config, ratio),) for ratio in set(ratios)}
    streams = need(config, "hc_mult")
    return Stack(
        tuple(Layer(kinds[ratio, index < hashed], caches[ratio]) for index, ratio in enumerate(ratios)),
        embedding(config, shard),
        (
            Table("hc_head", streams * streams * hidden + streams + 1, "float32"),
            *norms(hidden, 1),
            *head(config, shard),
        ),
        # compressing layers rotate at a pace of their own
        rotary(config, shard, need(config, "qk_rope_head_dim"), "float32") * len({bool(ratio) for ratio in ratios}),
        is_tied(config),
    )


def _ratios(config: Config, count: int) -> tuple[int, ...]:
    listed = config.get("compress_ratios")
    if not isinstance(listed, list | tuple) or len(listed) < count:
        raise InputError("config-lacks", key="compress_ratios", model_type=str(config.get("model_type")))
    return tuple(int(ratio) for ratio in listed[:count])


def _attention(config: Config, shard: Shard) -> tuple[Module, ...]:
    hidden, size, rank = need(config, "hidden_size"), need(config, "head_dim"), need(config, "q_lora_rank")
    heads = shard.divide(attention_heads(config), "num_attention_heads")
    groups, inner = need(config, "o_groups"), need(config, "o_lora_rank")
    here = shard.divide(groups, "o_groups")
    return (
        Linear("attn.fused_wqa_wkv", hidden, (rank, size)),
        Table("attn.q_norm", rank),
        Table("attn.kv_norm", size),
        Linear("attn.wq_b", rank, (heads * size,)),
        Linear("attn.wo_a", attention_heads(config) * size // groups, (here * inner,)),
        Linear("attn.wo_b", here * inner, (hidden,)),
        Table("attn.attn_sink", round_up(heads, _SINK_HEADS), "float32"),
    )


def _compression(config: Config, ratio: int) -> tuple[Module, ...]:
    if not ratio:
        return ()
    size = need(config, "head_dim")
    modules = _compressor(config, ratio, size)
    if ratio != INDEXED_RATIO:
        return modules
    heads, index = need(config, "index_n_heads"), need(config, "index_head_dim")
    return (
        *modules,
        *_compressor(config, ratio, index),
        Linear("attn.indexer.wq_b", need(config, "q_lora_rank"), (heads * index,)),
        Linear("attn.indexer.weights_proj", need(config, "hidden_size"), (heads,), quantized=False),
    )


def _compressor(config: Config, ratio: int, size: int) -> tuple[Module, ...]:
    # neighbouring blocks of four overlap, so that each has two halves
    wide = size * (2 if ratio == INDEXED_RATIO else 1)
    return (
        Linear("attn.compressor.fused_wkv_wgate", need(config, "hidden_size"), (wide, wide), quantized=False),
        Table("attn.compressor.ape", ratio * wide, "float32"),
        Table("attn.compressor.norm", size),
    )


def _experts(config: Config, shard: Shard) -> tuple[Module, ...]:
    hidden, width = need(config, "hidden_size"), need(config, "moe_intermediate_size")
    count, shared = need(config, "n_routed_experts"), number(config, "n_shared_experts", default=1)
    return (
        Table("ffn.gate", count * hidden),
        Experts("ffn.experts", shard.experts(count), hidden, shard.expert_width(width)),
        *gated_mlp(hidden, shard.divide(width * shared, "shared expert width"), "ffn.shared_experts"),
    )


def _router(config: Config, *, hashed: bool) -> Table:
    if hashed:
        return Table("ffn.gate.tid2eid", need(config, "vocab_size") * need(config, "num_experts_per_tok"), "int32")
    return Table("ffn.gate.e_score_correction_bias", need(config, "n_routed_experts"), "float32")


def _connections(config: Config) -> tuple[Module, ...]:
    streams, hidden = need(config, "hc_mult"), need(config, "hidden_size")
    mixes = 2 * streams + streams * streams
    return (Table("hc_fn", mixes * streams * hidden, "float32"), Table("hc_base", mixes + 3, "float32")) * 2


def _cache(config: Config, ratio: int) -> Compressed:
    return Compressed(
        ratio,
        need(config, "head_dim"),
        number(config, "sliding_window", default=128),
        need(config, "index_head_dim") if ratio == INDEXED_RATIO else None,
    )
