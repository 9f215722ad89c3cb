"""The tower of Llama 3.2 Vision: tiles, gated positions, and a second stack of gated blocks behind the first.

Mirrors vllm/model_executor/models/mllama.py.
"""

from oomedic.models.architectures.encoders.vit import Block, Tower, block, norm_pair
from oomedic.models.hf_config import Config, first, need, number, text_config
from oomedic.models.modules import Linear, Module, Shard, Table


def mllama(config: Config, vision: Config, shard: Shard) -> Tower:
    """Return the tower of Llama 3.2 Vision."""
    width, size = need(vision, "hidden_size"), need(vision, "patch_size")
    shape = Block(
        "vision_model.transformer.layers.0",
        width,
        number(vision, "attention_heads", "num_attention_heads", default=16),
        need(vision, "intermediate_size"),
        out="self_attn.o_proj",
        qkv_bias=False,
        out_bias=False,
    )
    layer = block(shape, shard)
    tiles = number(vision, "max_num_tiles", default=4)
    ratios = len(first(vision, "supported_aspect_ratios", default=(0,) * 8)) + 1
    positions = ((need(vision, "image_size") // size) ** 2 + 1) * width
    stem = (
        Linear("patch_embedding", 3 * size * size, (shard.divide(width, "vision hidden_size"),)),
        Table("class_embedding", width),
        Table("gated_positional_embedding", 1 + positions + ratios * tiles * positions),
        Table("tile_positional_embeddings", 2 * (ratios * tiles * width + 1)),
        *norm_pair(width) * 2,
    )
    out = shard.divide(need(text_config(config), "hidden_size"), "hidden_size")
    projector: tuple[Module, ...] = (
        Linear("multi_modal_projector", need(vision, "vision_output_dim"), (out,), bias=True),
    )
    behind = ((*layer, Table("gates", 2)),) * number(vision, "num_global_layers", default=8)
    return (stem, *((layer,) * need(vision, "num_hidden_layers")), *behind, projector)
