"""Encoders for audio: Whisper's, alone or in front of a language model (Voxtral, Qwen2-Audio).

Mirrors vllm/model_executor/models/{whisper,voxtral,qwen2_audio}.py.
"""

from oomedic.models.architectures.encoders.vit import Block, Tower, block, norm_pair
from oomedic.models.hf_config import Config, need, number, text_config
from oomedic.models.modules import WHOLE, Linear, Shard, Table


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


def voxtral(config: Config, audio: Config, shard: Shard) -> Tower:
    """Return the encoder of Voxtral with its adapter, which joins four steps."""
    width, out = need(audio, "hidden_size", "d_model"), need(text_config(config), "hidden_size")
    joined = width * number(config, "downsample_factor", default=4)
    adapter = (Linear("adapter.w_in", joined, (out,)), Linear("adapter.w_out", out, (out,)))
    return (*whisper_encoder(audio, shard), adapter)


def qwen2_audio(config: Config, audio: Config, _shard: Shard) -> Tower:
    """Return the encoder of Qwen2-Audio with its projector, whole on each rank: it is the module of transformers."""
    width, out = need(audio, "d_model", "hidden_size"), need(text_config(config), "hidden_size")
    stem, *blocks = whisper_encoder(audio, WHOLE)
    inner = need(audio, "encoder_ffn_dim", "intermediate_size")
    layer = (
        Table("self_attn", 4 * width * width + 3 * width),  # the key projection has no bias
        Table("fc", 2 * width * inner + width + inner),
        *norm_pair(width) * 2,
    )
    projector = (Table("multi_modal_projector.linear", width * out + out),)
    return (stem, *((layer,) * len(blocks)), projector)
