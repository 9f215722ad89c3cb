"""Whisper: an audio encoder, and a decoder that attends to it in every layer.

Mirrors vllm/model_executor/models/whisper.py.
"""

from oomedic.models.architectures.encoders.audio import whisper_encoder
from oomedic.models.architectures.stack import Layer, Stack, head, norms, plain_mlp, qkv
from oomedic.models.cache_layers import Attention, CrossAttention
from oomedic.models.hf_config import Config, need
from oomedic.models.modules import Linear, Module, Shard, Table


def build(config: Config, shard: Shard) -> Stack:
    """Make the stack of Whisper, its encoder included."""
    hidden = need(config, "d_model")
    heads = need(config, "decoder_attention_heads")
    size = hidden // heads
    own = {**config, "hidden_size": hidden, "head_dim": size}
    kept = shard.key_value_heads(heads)
    width = shard.divide(need(config, "decoder_ffn_dim"), "decoder_ffn_dim")
    modules: tuple[Module, ...] = (
        qkv(own, shard, heads=heads, kv_heads=heads, bias=True),
        Linear("self_attn.out_proj", kept * size, (hidden,), bias=True),
        Linear("encoder_attn.q_proj", hidden, (kept * size,), bias=True),
        Linear("encoder_attn.kv_proj", hidden, (kept * size, kept * size), bias=True),
        Linear("encoder_attn.out_proj", kept * size, (hidden,), bias=True),
        *plain_mlp(hidden, width, bias=True),
        *norms(hidden, 3, bias=True),
    )
    positions = need(config, "max_source_positions")
    layer = Layer(modules, (Attention(kept, size), CrossAttention(kept, size, positions)))
    words = need(config, "vocab_size") * hidden  # neither padded nor split
    return Stack(
        (layer,) * need(config, "decoder_layers"),
        (
            Table("decoder.embed_tokens", words),
            Table("decoder.embed_positions", need(config, "max_target_positions") * hidden),
        ),
        (*norms(hidden, 1, bias=True), *head(own, shard)),
        tied=True,
        encoder=whisper_encoder(config, shard.of_encoder),
    )
