"""InternViT, the tower of InternVL: its attention is whole on each rank where its heads do not divide (25 in 6B).

Mirrors vllm/model_executor/models/{intern_vit,internvl}.py.
"""

from oomedic.models.architectures.encoders.vit import Block, Tower, block, norm_pair, patches
from oomedic.models.hf_config import Config, first, need, number, ratio, text_config
from oomedic.models.modules import WHOLE, Module, Shard, Table


def internvl(config: Config, vision: Config, shard: Shard) -> Tower:
    """Return InternViT up to the selected layer, and the projector, which is not split."""
    width, heads = need(vision, "hidden_size"), need(vision, "num_attention_heads")
    size = need(vision, "patch_size")
    rms = first(vision, "norm_type", default="layer_norm") == "rms_norm"
    shape = Block(
        "vision_model.encoder.layers.0",
        width,
        heads,
        need(vision, "intermediate_size"),
        qkv_parts=("attn.qkv",),
        out="attn.proj",
        qkv_bias=bool(first(vision, "qkv_bias", default=True)),
        norm_bias=not rms,
    )
    whole = heads % shard.tensor_parallel_size != 0
    attention = block(shape, WHOLE)[:2] if whole else block(shape, shard)[:2]
    # the MLP is split in any case
    feed = block(shape._replace(heads=shard.tensor_parallel_size, head_size=1), shard)[2:]
    scales = (Table("ls", width),) * 2
    query_norms = (Table("q_norm", width),) * (2 if vision.get("qk_normalization") else 0)
    stem = (
        Table("class_embedding", width),
        *patches(width, size, bias=True),
        Table("position_embedding", ((need(vision, "image_size") // size) ** 2 + 1) * width),
    )
    layer: tuple[Module, ...] = (*attention, *feed, *scales, *query_norms)
    return (stem, *((layer,) * _layers(config, vision)), _projector(config, width))


def _layers(config: Config, vision: Config) -> int:
    selected, count = number(config, "select_layer", default=-1), need(vision, "num_hidden_layers")
    return count + selected + 1 if selected < 0 else selected + 1


def _projector(config: Config, width: int) -> tuple[Module, ...]:
    joined = width * round(1 / ratio(config, "downsample_ratio", default=0.5)) ** 2
    out = need(text_config(config), "hidden_size")
    return (*norm_pair(joined), Table("mlp1.1", joined * out + out), Table("mlp1.3", out * out + out))
