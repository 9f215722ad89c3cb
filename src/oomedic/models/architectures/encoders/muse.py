"""The tower of Muse-Glimmer, whose MLPs and adapter are whole on every rank.

Mirrors vllm/model_executor/models/muse_glimmer.py.
"""

from oomedic.models.architectures.encoders.vit import Block, Tower, block, norm_pair
from oomedic.models.hf_config import Config, need, number, text_config
from oomedic.models.modules import WHOLE, Shard, Table


def muse_glimmer(config: Config, vision: Config, shard: Shard) -> Tower:
    """Return the tower of Muse-Glimmer: only its attention is split."""
    width, size = need(vision, "hidden_size"), need(vision, "patch_size")
    shape = Block(
        "vision_encoder.transformer.0",
        width,
        need(vision, "num_attention_heads"),
        need(vision, "intermediate_size"),
        qkv_parts=("attn.qkv_proj",),
        out="attn.o_proj",
        mlp_parts=("mlp.c_fc", "mlp.c_proj"),
    )
    split, whole = block(shape, shard), block(shape, WHOLE)
    pixels = 3 * number(vision, "patch_temporal", default=2) * size * size
    stem = (
        Table("conv1_linear", pixels * width),
        Table("positional_embedding_vlm", need(vision, "pos_emb_height") * need(vision, "pos_emb_width") * width),
        *norm_pair(width) * 2,
    )
    merged = width * number(vision, "merge_size", default=2) ** 2
    inner, out = need(config, "projector_hidden_size"), need(text_config(config), "hidden_size")
    adapter = (Table("vision_adapter", merged * inner + inner * inner), Table("vision_projection", inner * out))
    layers = need(vision, "num_hidden_layers")
    return (stem, *(((*split[:2], *whole[2:]),) * layers), adapter)
