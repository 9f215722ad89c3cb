"""Encoders of Gemma 3n and Gemma 4, which vLLM takes from transformers: whole on each rank, never quantised.

Mirrors vllm/model_executor/models/{gemma3n_mm,gemma4_mm}.py.
"""

from collections.abc import Mapping
from typing import Any

from oomedic.models.architectures.encoders.vit import Block, Tower, block, patches, unquantized
from oomedic.models.hf_config import Config, first, need, number, text_config
from oomedic.models.modules import WHOLE, Linear, Module, Shard, Table

_MOBILENET_V5_300M = 294_126_912
"""Parameters of timm's mobilenetv5_300m_enc, the one image encoder of Gemma 3n (counted by its own class)."""


def gemma3n(config: Config, vision: Config, shard: Shard) -> Tower:
    """Return the image and audio encoders of Gemma 3n with their projections into the language model."""
    out = need(text_config(config), "hidden_size")
    images = (Table("vision_tower", _MOBILENET_V5_300M), *_soft_tokens(vision, out, shard))
    audio = first(config, "audio_config", default={})
    return (images, *_conformer(audio), _soft_tokens({"hidden_size": 1536, **audio}, out, shard))


def gemma4(config: Config, vision: Config, shard: Shard) -> Tower:
    """Return the image encoder of Gemma 4, and the audio encoder of the small models."""
    del shard  # nothing is split
    width, depth = need(vision, "hidden_size"), need(vision, "num_hidden_layers")
    shape = Block(
        "vision_tower.encoder.layers.0",
        width,
        need(vision, "num_attention_heads"),
        need(vision, "intermediate_size"),
        vision.get("head_dim"),
        mlp="gated",
        out="self_attn.o_proj",
        mlp_parts=("mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"),
        qkv_bias=False,
        out_bias=False,
        mlp_bias=False,
        norms=4,
        norm_bias=False,
    )
    head = number(vision, "head_dim", default=width // shape.heads)
    layer = (*unquantized(block(shape, WHOLE)), Table("q_norm", head), Table("k_norm", head))
    stem = (
        *patches(width, need(vision, "patch_size"), bias=False),
        Table("position_embedding_table", 2 * need(vision, "position_embedding_size") * width),
    )
    out = need(text_config(config), "hidden_size")
    images = (stem, *((layer,) * depth), (Table("embed_vision.embedding_projection", width * out),))
    return (*images, *_gemma4_audio(config, out))


def _gemma4_audio(config: Config, out: int) -> Tower:
    """Return the audio encoder: that of models with an embedding per layer, unless the config rules it out."""
    small = bool(first(text_config(config), "hidden_size_per_layer_input", default=0))
    audio = config.get("audio_config", {} if small else None)
    if not isinstance(audio, Mapping):
        return ()
    width, projected = (
        number(audio, "hidden_size", default=1024),
        number(audio, "output_proj_dims", default=1536),
    )
    tail = (Table("output_proj", width * projected + projected), Table("embed_audio", projected * out))
    return (*_conformer({"hidden_size": width, **audio}), tail)


def gemma4_unified(config: Config, vision: Config, shard: Shard) -> Tower:
    """Return the embedder of patches of the Gemma 4 models that have no encoder."""
    pixels = 3 * (need(vision, "patch_size") * number(vision, "pooling_kernel_size", default=3)) ** 2
    out = need(text_config(config), "hidden_size")
    width, positions = (
        number(vision, "mm_embed_dim", default=out),
        number(vision, "mm_posemb_size", default=1120),
    )
    modules: tuple[Module, ...] = (
        Linear("vision_embedder.patch_dense", pixels, (shard.divide(width, "mm_embed_dim"),), bias=True),
        Table("vision_embedder.pos_embedding", 2 * positions * width),
        Table("vision_embedder.norms", 2 * pixels + 4 * width),
        Table("embed_vision.embedding_projection", width * out),
    )
    return (modules,)


def _soft_tokens(tower: Config, out: int, shard: Shard) -> tuple[Module, ...]:
    width = need(tower, "hidden_size")
    rows = shard.vocabulary(number(tower, "vocab_size", default=128))
    return (
        Table("embedding", rows * width),
        Table("norm", width),
        Table("norm", width),
        Table("embedding_projection", shard.divide(width, "encoder hidden_size") * out),
    )


def _conformer(audio: Mapping[str, Any]) -> Tower:
    width = number(audio, "hidden_size", default=1536)
    depth = number(audio, "conf_num_hidden_layers", "num_hidden_layers", default=12)
    head = width // number(audio, "conf_num_attention_heads", "num_attention_heads", default=8)
    kernel = number(audio, "conf_conv_kernel_size", "conv_kernel_size", default=5)
    one, two = first(audio, "sscp_conv_channel_size", "subsampling_conv_channels", default=(128, 32))
    frequencies = number(audio, "input_feat_size", default=128) // 4
    stem = (Table("subsample", 9 * one + one + 9 * one * two + two + two * frequencies * width),)
    # two feed-forward parts of 4 x width, five attention matrices, a gated convolution, and norms
    elements = 16 * width * width + 5 * width * width + 3 * width * width + kernel * width + 9 * width + head
    return (stem, *(((Table("conformer", elements),),) * depth))
