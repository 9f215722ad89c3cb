"""Models of state-space layers only: Mamba, Falcon-Mamba, Mamba-2.

Mirrors vllm/model_executor/models/{mamba,mamba2}.py.
"""

from oomedic.models.architectures.mixers import Mamba1, Mamba2, Mixer, mamba1, mamba2
from oomedic.models.architectures.stack import Layer, Stack, embedding, head, is_tied, norms
from oomedic.models.hf_config import Config, first, layer_count, need, number
from oomedic.models.modules import Shard, ceil_div

STATE_SPACE = frozenset({"mamba", "falcon_mamba", "mamba2"})
"""Model types of this family."""


def build(config: Config, shard: Shard) -> Stack:
    """Make the stack of a state-space model."""
    hidden = need(config, "hidden_size")
    mixer = _second(config, shard) if config["model_type"] == "mamba2" else _first(config, shard)
    layer = Layer((*mixer.modules, *norms(hidden, 1)), (mixer.state,))
    return Stack(
        (layer,) * layer_count(config),
        embedding(config, shard),
        (*norms(hidden, 1), *head(config, shard)),
        tied=is_tied(config, default=config["model_type"] != "mamba2"),
    )


def _first(config: Config, shard: Shard) -> Mixer:
    hidden = need(config, "hidden_size")
    rank = first(config, "time_step_rank")
    shape = Mamba1(
        hidden,
        number(config, "intermediate_size", default=2 * hidden),
        number(config, "state_size", default=16),
        rank if isinstance(rank, int) else ceil_div(hidden, 16),
        number(config, "conv_kernel", default=4),
        bool(first(config, "use_bias", default=False)),
        bool(first(config, "use_conv_bias", default=True)),
    )
    return mamba1(shape, shard, "mixer")


def _second(config: Config, shard: Shard) -> Mixer:
    shape = Mamba2(
        need(config, "hidden_size"),
        need(config, "num_heads"),
        need(config, "head_dim"),
        need(config, "n_groups"),
        need(config, "state_size"),
        number(config, "conv_kernel", default=4),
        bool(first(config, "use_bias", default=False)),
        bool(first(config, "use_conv_bias", default=True)),
        chunk=first(config, "chunk_size"),
    )
    return mamba2(shape, shard, "mixer")
