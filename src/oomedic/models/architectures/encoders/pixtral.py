"""The Pixtral tower: RMSNorms, a gated MLP and no biases; Mistral 3 merges patches before it projects them.

Mirrors vllm/model_executor/models/{pixtral,mistral3}.py.
"""

from oomedic.models.architectures.encoders.vit import Block, Tower, block, norm_pair, patches
from oomedic.models.hf_config import Config, first, need, number, text_config
from oomedic.models.modules import Linear, Module, Shard, Table


def mistral3(config: Config, vision: Config, shard: Shard) -> Tower:
    """Return the tower of Mistral Small 3.1, Ministral 3 and their kin."""
    width = need(vision, "hidden_size")
    merge = number(config, "spatial_merge_size", default=2) ** 2
    merger = (Table("multi_modal_projector.norm", width), Table("patch_merger", merge * width * width))
    bias = bool(first(config, "multimodal_projector_bias", default=False))
    return (*_tower(vision, shard), (*merger, *_projector(config, width, shard, bias=bias)))


def llava(config: Config, vision: Config, shard: Shard) -> Tower:
    """Return the tower of Pixtral in LLaVA's form."""
    return (*_tower(vision, shard), _projector(config, need(vision, "hidden_size"), shard, bias=True))


def _projector(config: Config, width: int, shard: Shard, *, bias: bool) -> tuple[Module, ...]:
    out = need(text_config(config), "hidden_size")
    inner = shard.divide(out, "projector")
    return (
        Linear("multi_modal_projector.linear_1", width, (inner,), bias=bias),
        Linear("multi_modal_projector.linear_2", inner, (out,), bias=bias),
    )


def _tower(vision: Config, shard: Shard) -> Tower:
    width, heads = need(vision, "hidden_size"), need(vision, "num_attention_heads")
    shape = Block(
        "vision_tower.transformer.layers.0",
        width,
        heads,
        need(vision, "intermediate_size"),
        first(vision, "head_dim"),
        qkv_parts=("attention.q_proj", "attention.k_proj", "attention.v_proj"),
        out="attention.o_proj",
        mlp="gated",
        mlp_parts=("feed_forward.gate_proj", "feed_forward.up_proj", "feed_forward.down_proj"),
        qkv_bias=False,
        out_bias=False,
        mlp_bias=False,
        norm_bias=False,
    )
    stem = (*patches(width, need(vision, "patch_size"), bias=False), *norm_pair(width, bias=False))
    return (stem, *((block(shape, shard),) * need(vision, "num_hidden_layers")))
