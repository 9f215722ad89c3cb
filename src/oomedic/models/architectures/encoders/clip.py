"""CLIP and SigLIP towers with the projectors of LLaVA, Gemma 3, PaliGemma and Idefics 3.

Mirrors vllm/model_executor/models/{clip,siglip,llava,llava_next,llava_onevision,gemma3_mm,paligemma,idefics3}.py. LLaVA
uses the output of an earlier layer, so that the layers behind it are not built.
"""

from oomedic.models.architectures.encoders.vit import Block, Tower, block, norm_pair, patches
from oomedic.models.hf_config import Config, first, need, number, text_config
from oomedic.models.modules import NEWEST, Linear, Module, Shard, Table


def llava(config: Config, vision: Config, shard: Shard) -> Tower:
    """Return the tower of LLaVA and LLaVA-NeXT, with its projector of two matrices."""
    width, out = need(vision, "hidden_size"), _text_width(config)
    inner = shard.divide(out, "projector")
    projector: tuple[Module, ...] = (
        Linear("multi_modal_projector.linear_1", width, (inner,), bias=True),
        Linear("multi_modal_projector.linear_2", inner, (out,), bias=True),
    )
    if config.get("model_type") != "llava":
        projector = (*projector, Table("image_newline", out))
    layers = _used_layers(vision, first(config, "vision_feature_layer", default=-2))
    return (*_tower(vision, shard, layers, final_norm=False), projector)


def llava_onevision(config: Config, vision: Config, shard: Shard) -> Tower:
    """Return the tower of LLaVA-OneVision, which uses the last layer and does not split its projector."""
    width, out = need(vision, "hidden_size"), _text_width(config)
    projector = (
        Table("multi_modal_projector.linear_1", width * out + out),
        Table("multi_modal_projector.linear_2", out * out + out),
        Table("image_newline", out),
    )
    layers = _used_layers(vision, first(config, "vision_feature_layer", default=-1))
    return (*_tower(vision, shard, layers, final_norm=False), projector)


def gemma3(config: Config, vision: Config, shard: Shard) -> Tower:
    """Return the tower of Gemma 3 with its projection."""
    width = need(vision, "hidden_size")
    projector = (Table("mm_input_projection", width * _text_width(config)), Table("mm_soft_emb_norm", width))
    layers = need(vision, "num_hidden_layers")
    return (*_tower(vision, shard, layers, final_norm=True), projector)


def paligemma(config: Config, vision: Config, shard: Shard) -> Tower:
    """Return the tower of PaliGemma with its projector, which is not split."""
    width, out = need(vision, "hidden_size"), number(vision, "projection_dim", default=_text_width(config))
    projector = (Table("multi_modal_projector.linear", width * out + out),)
    return (*_tower(vision, shard, need(vision, "num_hidden_layers"), final_norm=True), projector)


def idefics3(config: Config, vision: Config, shard: Shard) -> Tower:
    """Return the tower of Idefics 3 and SmolVLM with its connector."""
    width, factor = need(vision, "hidden_size"), number(config, "scale_factor", default=2)
    connector = (Linear("connector.modality_projection.proj", width * factor**2, (_text_width(config),)),)
    vision = {**vision, "model_type": "idefics3_vision", "vision_use_head": False}
    whole = shard._replace(release=NEWEST)  # its positions were never split
    return (*_tower(vision, whole, need(vision, "num_hidden_layers"), final_norm=True), connector)


def _text_width(config: Config) -> int:
    return need(text_config(config), "hidden_size")


def _used_layers(vision: Config, feature_layer: int | list[int]) -> int:
    count = need(vision, "num_hidden_layers")
    chosen = feature_layer if isinstance(feature_layer, list | tuple) else [feature_layer]
    return max(count + layer + 1 if layer < 0 else layer for layer in chosen)


def _tower(vision: Config, shard: Shard, layers: int, *, final_norm: bool) -> Tower:
    width = need(vision, "hidden_size")
    siglip = "clip_vision" not in str(vision.get("model_type"))
    size = need(vision, "patch_size")
    positions = (need(vision, "image_size") // size) ** 2 + (0 if siglip else 1)
    shape = Block(
        "vision_tower.vision_model.encoder.layers.0",
        width,
        need(vision, "num_attention_heads"),
        need(vision, "intermediate_size"),
    )
    stem: tuple[Module, ...] = (
        *patches(width, size, bias=siglip),
        _positions(positions, width, shard, split=siglip and shard.release.get("siglip_positions") == "vocabulary"),
        *(() if siglip else (Table("class_embedding", width), *norm_pair(width))),
    )
    post = norm_pair(width) if final_norm else ()
    return (stem, *((block(shape, shard),) * layers), (*post, *_pooling_head(vision, shape, shard, siglip=siglip)))


def _positions(count: int, width: int, shard: Shard, *, split: bool) -> Table:
    return Table("position_embedding", (shard.vocabulary(count) if split else count) * width)


def _pooling_head(vision: Config, shape: Block, shard: Shard, *, siglip: bool) -> tuple[Module, ...]:
    if not siglip or not shard.release.get("siglip_head", False) or not first(vision, "vision_use_head", default=True):
        return ()
    width, inner = shape.width, shard.divide(shape.inner, "vision intermediate_size")
    return (
        Table("head.probe", width),
        Table("head.attention", 4 * (width * width + width)),
        *norm_pair(width),
        Linear("head.mlp.fc1", width, (inner,), bias=True),
        Linear("head.mlp.fc2", inner, (width,), bias=True),
    )
