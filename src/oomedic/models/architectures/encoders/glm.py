"""The tower of GLM-4.1V and GLM-4.5V, which joins four patches by a convolution before a gated merger.

Mirrors vllm/model_executor/models/glm4_1v.py.
"""

from oomedic.models.architectures.encoders.vit import Block, Tower, block, norm_pair, patches
from oomedic.models.hf_config import Config, first, need, number
from oomedic.models.modules import Linear, Module, Shard, Table


def glm4v(config: Config, vision: Config, shard: Shard) -> Tower:
    """Return the tower of GLM-4.1V and GLM-4.5V."""
    del config
    width, depth, out = need(vision, "hidden_size"), need(vision, "depth"), need(vision, "out_hidden_size")
    size = need(vision, "patch_size")
    shape = Block(
        "visual.blocks.0",
        width,
        need(vision, "num_heads"),
        out,
        qkv_parts=("attn.qkv",),
        out="attn.proj",
        mlp="gated",
        mlp_parts=("mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"),
        qkv_bias=bool(first(vision, "attention_bias", default=False)),
        out_bias=False,
        mlp_bias=False,
        norm_bias=False,
    )
    merge = number(vision, "spatial_merge_size", default=2) ** 2
    stem = (
        *patches(width, size, bias=True, frames=number(vision, "temporal_patch_size", default=2)),
        Table("visual.embeddings", (need(vision, "image_size") // size) ** 2 * width),
        *norm_pair(width, bias=False) * 2,
        Table("visual.downsample", width * out * merge + out),
    )
    context = shard.divide(need(vision, "intermediate_size"), "vision merger")
    merger: tuple[Module, ...] = (
        Linear("visual.merger.proj", out, (shard.divide(out, "vision merger"),)),
        *norm_pair(out),
        Linear(
            "visual.merger.gate_up_proj",
            out,
            (context, context),
            parts=("visual.merger.gate_proj", "visual.merger.up_proj"),
        ),
        Linear("visual.merger.down_proj", context, (out,)),
    )
    return (stem, *((block(shape, shard),) * depth), merger)
