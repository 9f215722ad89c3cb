"""Falcon-H1: attention and a Mamba-2 mixer side by side in every layer.

Mirrors vllm/model_executor/models/falcon_h1.py.
"""

from oomedic.models.architectures.dense import Switches, attention_caches, attention_modules
from oomedic.models.architectures.mixers import Mamba2, Mixer, mamba2
from oomedic.models.architectures.stack import Layer, Stack, embedding, gated_mlp, head, is_tied, norms, rotary
from oomedic.models.hf_config import Config, first, layer_count, need, number
from oomedic.models.modules import Shard


def build(config: Config, shard: Shard) -> Stack:
    """Make the stack of Falcon-H1."""
    hidden = need(config, "hidden_size")
    mixer = _mixer(config, shard)
    bias = bool(config.get("attention_bias"))
    width = shard.divide(need(config, "intermediate_size"), "intermediate_size")
    modules = (
        *attention_modules(config, shard, Switches(qkv_bias=bias, out_bias=bias)),
        *mixer.modules,
        *gated_mlp(hidden, width, "feed_forward", bias=bool(config.get("mlp_bias"))),
        *norms(hidden, 2),
    )
    layer = Layer(modules, (*attention_caches(config, shard)[0], mixer.state))
    return Stack(
        (layer,) * layer_count(config),
        embedding(config, shard),
        (*norms(hidden, 1), *head(config, shard)),
        rotary(config, shard),
        is_tied(config),
    )


def _mixer(config: Config, shard: Shard) -> Mixer:
    hidden, heads = need(config, "hidden_size"), need(config, "mamba_n_heads")
    width = first(config, "mamba_d_ssm")
    channels = int(width) if width else int(first(config, "mamba_expand", default=2) * hidden)
    shape = Mamba2(
        hidden,
        heads,
        number(config, "mamba_d_head", default=channels // heads),
        need(config, "mamba_n_groups"),
        need(config, "mamba_d_state"),
        number(config, "mamba_d_conv", default=4),
        bool(first(config, "mamba_proj_bias", default=False)),
        bool(first(config, "mamba_conv_bias", default=True)),
        norm=bool(first(config, "mamba_rms_norm", default=False)),
        chunk=first(config, "mamba_chunk_size"),
    )
    return mamba2(shape, shard, "mamba")
