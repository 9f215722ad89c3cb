"""Encoders for audio: Whisper's, alone or in front of a language model (Voxtral).

Mirrors vllm/model_executor/models/{whisper,voxtral}.py.
"""

from collections.abc import Mapping

from oomedic.architectures.encoders.vit import Block, Tower, block, norm_pair
from oomedic.errors import InputError
from oomedic.hf_config import Config, need, number, text_config
from oomedic.modules import Linear, Shard, Table


def whisper_encoder(config: Config, shard: Shard) -> Tower:
    """Return the encoder of Whisper."""
    width = need(config, "d_model", "hidden_size")
    shape = Block(
        "encoder.layers.0",
        width,
        need(config, "encoder_attention_heads", "num_attention_heads"),
        need(config, "encoder_ffn_dim", "intermediate_size"),
    )
    mels = number(config, "num_mel_bins", default=80)
    stem = (
        Table("conv1", mels * width * 3 + width),
        Table("conv2", width * width * 3 + width),
        Table("embed_positions", need(config, "max_source_positions") * width),
        *norm_pair(width),
    )
    return (stem, *((block(shape, shard),) * need(config, "encoder_layers", "num_hidden_layers")))


def voxtral(config: Config, shard: Shard) -> Tower:
    """Return the encoder of Voxtral with its adapter, which joins four steps."""
    audio = config.get("audio_config")
    if not isinstance(audio, Mapping):
        raise InputError("config-lacks", key="audio_config", model_type="voxtral")
    width, out = need(audio, "hidden_size", "d_model"), need(text_config(config), "hidden_size")
    joined = width * number(config, "downsample_factor", default=4)
    adapter = (Linear("adapter.w_in", joined, (out,)), Linear("adapter.w_out", out, (out,)))
    return (*whisper_encoder(audio, shard), adapter)
