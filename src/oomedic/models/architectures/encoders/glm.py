"""The towers of GLM-4.1V, GLM-4.5V and GLM-OCR, which join four patches by a convolution before a gated merger.

Mirrors vllm/model_executor/models/glm4_1v.py and glm_ocr.py.
"""

from oomedic.models.architectures.encoders.vit import Block, Tower, block, norm_pair, patches
from oomedic.models.hf_config import Config, first, need, nested, number
from oomedic.models.modules import Linear, Module, Shard, Table


def glm4v(config: Config, vision: Config, shard: Shard) -> Tower:
    """Return the tower of GLM-4.1V and GLM-4.5V."""
    del config
    width, size = need(vision, "hidden_size"), need(vision, "patch_size")
    shape = _shape(vision, need(vision, "out_hidden_size"), bias=False)
    positions = Table("visual.embeddings", (need(vision, "image_size") // size) ** 2 * width)
    stem = (*_patches(vision), positions, *norm_pair(width, bias=False) * 2, _downsample(vision))
    merger = _merger(vision, need(vision, "intermediate_size"), shard)
    return (stem, *((block(shape, shard),) * need(vision, "depth")), merger)


def glm_ocr(config: Config, vision: Config, shard: Shard) -> Tower:
    """Return the tower of GLM-OCR: no positions, norms of queries and keys, a merger of the text's width."""
    width = need(vision, "hidden_size")
    shape = _shape(vision, need(vision, "intermediate_size"), bias=True)
    head_norms = norm_pair(width // shape.heads, bias=False) * 2
    stem = (*_patches(vision), *norm_pair(width, bias=False), _downsample(vision))
    merger = _merger(vision, need(nested(config, "text_config"), "intermediate_size"), shard)
    return (stem, *(((*block(shape, shard), *head_norms),) * need(vision, "depth")), merger)


def _shape(vision: Config, inner: int, *, bias: bool) -> Block:
    return Block(
        "visual.blocks.0",
        need(vision, "hidden_size"),
        need(vision, "num_heads"),
        inner,
        qkv_parts=("attn.qkv",),
        out="attn.proj",
        mlp="gated",
        mlp_parts=("mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"),
        qkv_bias=bool(first(vision, "attention_bias", default=False)),
        out_bias=bias,
        mlp_bias=bias,
        norm_bias=False,
    )


def _patches(vision: Config) -> tuple[Module, ...]:
    frames = number(vision, "temporal_patch_size", default=2)
    return patches(need(vision, "hidden_size"), need(vision, "patch_size"), bias=True, frames=frames)


def _downsample(vision: Config) -> Module:
    merge, out = number(vision, "spatial_merge_size", default=2) ** 2, need(vision, "out_hidden_size")
    return Table("visual.downsample", need(vision, "hidden_size") * out * merge + out)


def _merger(vision: Config, context: int, shard: Shard) -> tuple[Module, ...]:
    out, context = need(vision, "out_hidden_size"), shard.divide(context, "vision merger")
    return (
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
