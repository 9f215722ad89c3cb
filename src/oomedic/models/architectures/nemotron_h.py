"""Nemotron-H and Nemotron 3: each layer is one thing only, by its letter: M mixer, * attention, - MLP, E experts.

Mirrors vllm/model_executor/models/nemotron_h.py; experts have no gate and may work in a smaller latent space.
"""

from collections.abc import Mapping
from typing import Any, Final

from oomedic.errors import InputError
from oomedic.models.architectures.dense import Switches, attention_caches, attention_modules
from oomedic.models.architectures.mixers import Mamba2, Mixer, mamba2
from oomedic.models.architectures.stack import Layer, Stack, embedding, head, is_tied, norms, plain_mlp
from oomedic.models.hf_config import Config, first, layer_count, need, number
from oomedic.models.modules import Experts, Linear, Module, Shard, Table

_LETTERS: Final = {"mamba": "M", "attention": "*", "mlp": "-", "moe": "E"}


def build(config: Config, shard: Shard) -> Stack:
    """Make the stack of a Nemotron hybrid."""
    hidden = need(config, "hidden_size")
    pattern = _pattern(config)
    layers = {letter: _layer(letter, config, shard) for letter in set(pattern)}
    return Stack(
        tuple(layers[letter] for letter in pattern),
        embedding(config, shard),
        (*norms(hidden, 1), *head(config, shard)),
        tied=is_tied(config),
        root="backbone",
    )


def _pattern(config: Config) -> str:
    given = first(config, "hybrid_override_pattern")
    types = first(config, "layers_block_type", "layer_types")
    if isinstance(given, str):
        return given[: layer_count(config)] if first(config, "num_hidden_layers") else given
    if isinstance(types, list | tuple):
        return "".join(_LETTERS.get(str(kind), "?") for kind in types)
    raise InputError("config-lacks", key="hybrid_override_pattern", model_type="nemotron_h")


def _layer(letter: str, config: Config, shard: Shard) -> Layer:
    norm = norms(need(config, "hidden_size"), 1)
    if letter == "M":
        mixer = _mixer(config, shard)
        return Layer((*mixer.modules, *norm), (mixer.state,))
    if letter == "*":
        switches = Switches(qkv_bias=bool(config.get("attention_bias")), out_bias=bool(config.get("attention_bias")))
        modules = attention_modules(config, shard, switches, "mixer")
        return Layer((*modules, *norm), attention_caches({**config, "num_hidden_layers": 1}, shard)[0])
    if letter == "-":
        return Layer((*_mlp(config, shard), *norm), ())
    if letter == "E":
        return Layer((*_experts(config, shard), *norm), ())
    raise InputError("config-lacks", key="hybrid_override_pattern", model_type="nemotron_h")


def _mixer(config: Config, shard: Shard) -> Mixer:
    shape = Mamba2(
        need(config, "hidden_size"),
        need(config, "mamba_num_heads"),
        need(config, "mamba_head_dim"),
        need(config, "n_groups", "mamba_n_groups"),
        need(config, "ssm_state_size"),
        number(config, "conv_kernel", default=4),
        bool(first(config, "use_bias", "mamba_proj_bias", default=False)),
        bool(first(config, "use_conv_bias", default=True)),
        chunk=first(config, "chunk_size", "mamba_chunk_size"),
        state_dtype=_state_dtype(config, shard.release),
    )
    return mamba2(shape, shard, "mixer")


def _state_dtype(config: Config, release: Mapping[str, Any]) -> str | None:
    return first(config, "mamba_ssm_cache_dtype") if release.get("declared_state_dtype", True) else None


def _mlp(config: Config, shard: Shard) -> tuple[Module, ...]:
    width = config.get("intermediate_size")
    given = need(config, "intermediate_size") if not isinstance(width, list | tuple) else int(width[0])
    return plain_mlp(
        need(config, "hidden_size"),
        shard.divide(given, "intermediate_size"),
        "mixer",
        bias=bool(config.get("mlp_bias")),
    )


def _experts(config: Config, shard: Shard) -> tuple[Module, ...]:
    hidden, count = need(config, "hidden_size"), need(config, "n_routed_experts")
    latent = first(config, "moe_latent_size")
    width = shard.expert_width(need(config, "moe_intermediate_size"))
    modules: list[Module] = [
        Table("mixer.gate", count * hidden, shard.dtype("nemotron_router_dtype")),
        Table("mixer.gate.e_score_correction_bias", count, "float32"),
        Experts("mixer.experts", shard.experts(count), int(latent or hidden), width, gated=False),
    ]
    if first(config, "n_shared_experts", default=0):
        shared = need(config, "moe_shared_expert_intermediate_size")
        modules += plain_mlp(hidden, shard.divide(shared, "shared expert width"), "mixer.shared_experts")
    if latent:
        inner = int(latent)
        modules += [
            Linear("mixer.fc1_latent_proj", hidden, (inner,)),
            Linear("mixer.fc2_latent_proj", inner, (hidden,)),
        ]
    return tuple(modules)
