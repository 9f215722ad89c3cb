"""The tower of MiniMax M3: CLIP-like blocks over pairs of frames, and two projectors, one of merged patches.

Mirrors vllm/model_executor/models/minimax_m3_vl.py.
"""

from oomedic.models.architectures.encoders.vit import Block, Tower, block, norm_pair, patches
from oomedic.models.hf_config import Config, first, need, number, text_config
from oomedic.models.modules import Linear, Shard


def minimax_m3(config: Config, vision: Config, shard: Shard) -> Tower:
    """Return the tower of MiniMax M3."""
    width, out = need(vision, "hidden_size"), need(text_config(config), "hidden_size")
    compression = first(vision, "img_token_compression_config", default={})
    shape = Block(
        "vision_tower.vision_model.encoder.layers.0",
        width,
        need(vision, "num_attention_heads"),
        need(vision, "intermediate_size"),
        mlp_parts=("fc1", "fc2"),
    )
    frames = number(compression, "temporal_patch_size", default=2)
    stem = (*patches(width, need(vision, "patch_size"), bias=False, frames=frames), *norm_pair(width))
    inner = shard.divide(number(config, "projector_hidden_size", default=out), "projector_hidden_size")
    merged = out * number(compression, "spatial_merge_size", default=2) ** 2
    projectors = (
        Linear("multi_modal_projector.linear_1", width, (inner,), bias=True),
        Linear("multi_modal_projector.linear_2", inner, (out,), bias=True),
        Linear("patch_merge_mlp.linear_1", merged, (inner,), bias=True),
        Linear("patch_merge_mlp.linear_2", inner, (out,), bias=True),
    )
    return (stem, *((block(shape, shard),) * need(vision, "num_hidden_layers")), projectors)
