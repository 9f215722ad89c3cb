"""The tower of Llama 4, whose adapter shuffles pixels before it projects them.

Mirrors vllm/model_executor/models/mllama4.py.
"""

from oomedic.models.architectures.encoders.vit import Block, Tower, block, norm_pair
from oomedic.models.hf_config import Config, need, ratio, text_config
from oomedic.models.modules import Linear, Module, Shard, Table


def llama4(config: Config, vision: Config, shard: Shard) -> Tower:
    """Return the tower of Llama 4."""
    width, size = need(vision, "hidden_size"), need(vision, "patch_size")
    inner = need(vision, "intermediate_size")
    shape = Block(
        "vision_model.model.layers.0",
        width,
        need(vision, "num_attention_heads"),
        inner,
        out="self_attn.o_proj",
    )
    pixels = 3 * size * size
    stem = (
        Linear("vision_model.patch_embedding.linear", pixels, (shard.divide(width, "vision hidden_size"),)),
        Table("class_embedding", width),
        Table("positional_embedding_vlm", ((need(vision, "image_size") // size) ** 2 + 1) * width),
        *norm_pair(width) * 2,
    )
    middle, out = need(vision, "projector_input_dim"), need(vision, "projector_output_dim")
    joined = round(width / ratio(vision, "pixel_shuffle_ratio", default=0.5) ** 2)
    split = shard.divide(middle, "vision adapter")
    adapter: tuple[Module, ...] = (
        Linear("vision_model.vision_adapter.mlp.fc1", joined, (split,)),
        Linear("vision_model.vision_adapter.mlp.fc2", split, (out,)),
        Linear(
            "multi_modal_projector.linear_1",
            need(vision, "vision_output_dim"),
            (shard.divide(need(text_config(config), "hidden_size"), "hidden_size"),),
        ),
    )
    return (stem, *((block(shape, shard),) * need(vision, "num_hidden_layers")), adapter)
