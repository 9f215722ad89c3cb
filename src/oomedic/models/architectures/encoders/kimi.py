"""MoonViT, the tower of Kimi-VL and Kimi K2.5.

Mirrors vllm/model_executor/models/{moonvit,kimi_vl,kimi_k25,kimi_k25_vit}.py.
"""

from oomedic.models.architectures.encoders.vit import Block, Tower, block, norm_pair, patches, unquantized
from oomedic.models.hf_config import Config, first, need, number, text_config
from oomedic.models.modules import Shard, Table


def moonvit(config: Config, vision: Config, shard: Shard) -> Tower:
    """Return MoonViT, which stays unquantised; its projector is whole on every rank."""
    width = need(vision, "vt_hidden_size", "hidden_size")
    height = number(vision, "init_pos_emb_height", default=64)
    breadth = number(vision, "init_pos_emb_width", default=64)
    shape = Block(
        "vision_tower.encoder.blocks.0",
        width,
        need(vision, "vt_num_attention_heads", "num_attention_heads"),
        need(vision, "vt_intermediate_size", "intermediate_size"),
        qkv_parts=("wqkv",),
        out="wo",
        mlp_parts=("mlp.fc0", "mlp.fc1"),
    )
    stem = (
        *patches(width, need(vision, "patch_size"), bias=True),
        Table("pos_emb", height * breadth * width),
        *norm_pair(width),
    )
    rows, columns = first(vision, "merge_kernel_size", default=(2, 2))
    merged, out = width * rows * columns, need(text_config(config), "hidden_size")
    projector = (
        *norm_pair(width),
        Table("mm_projector.linear_1", merged * merged + merged),
        Table("mm_projector.linear_2", merged * out + out),
    )
    depth = need(vision, "vt_num_hidden_layers", "num_hidden_layers")
    return (stem, *((unquantized(block(shape, shard)),) * depth), projector)
