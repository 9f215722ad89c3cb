"""Layers that keep a state instead of keys and values: Mamba's mixers and the short convolution.

Mirrors vllm/model_executor/layers/mamba/{mamba_mixer,mamba_mixer2,short_conv,mamba_utils}.py.
"""

from typing import NamedTuple

from oomedic.models.cache_layers import State
from oomedic.models.modules import Linear, Module, Shard, Table


class Mixer(NamedTuple):
    """A mixer's modules on this rank, and the state it keeps per sequence."""

    modules: tuple[Module, ...]
    state: State


class Mamba1(NamedTuple):
    """The shape of a Mamba mixer: ``width`` channels with ``state`` values each, time steps of rank ``rank``."""

    hidden: int
    width: int
    state: int
    rank: int
    kernel: int
    bias: bool = False
    conv_bias: bool = True
    inner_norms: bool = False
    state_dtype: str | None = None


def mamba1(shape: Mamba1, shard: Shard, name: str) -> Mixer:
    """Return a Mamba mixer; its channels are split over ranks, what depends on time steps is not."""
    width = shard.divide(shape.width, "mamba intermediate_size")
    modules: list[Module] = [
        Linear(f"{name}.in_proj", shape.hidden, (width, width), shape.bias),
        *_convolution(name, width, shape.kernel, bias=shape.conv_bias),
        Linear(f"{name}.x_proj", width, (shape.rank + 2 * shape.state,)),
        Linear(f"{name}.dt_proj", shape.rank, (width,), bias=True),
        Table(f"{name}.A", width * shape.state, "float32"),
        Table(f"{name}.D", width),
        Linear(f"{name}.out_proj", width, (shape.hidden,), shape.bias),
    ]
    if shape.inner_norms:
        modules += [
            Table("dt_layernorm", shape.rank),
            Table("b_layernorm", shape.state),
            Table("c_layernorm", shape.state),
        ]
    state = State("mamba1", (shape.kernel - 1) * width, width * shape.state, shape.state_dtype)
    return Mixer(tuple(modules), state)


class Mamba2(NamedTuple):
    """The shape of a Mamba-2 mixer: ``heads`` of ``head_size`` channels, ``groups`` that share B and C."""

    hidden: int
    heads: int
    head_size: int
    groups: int
    state: int
    kernel: int
    bias: bool = False
    conv_bias: bool = True
    norm: bool = True
    chunk: int | None = None
    state_dtype: str | None = None


def mamba2(shape: Mamba2, shard: Shard, name: str) -> Mixer:
    """Return a Mamba-2 mixer; groups that do not divide are replicated, one per rank."""
    heads = shard.divide(shape.heads, "mamba heads")
    width = heads * shape.head_size
    groups = max(1, shape.groups // shard.tensor_parallel_size)
    mixed = width + 2 * groups * shape.state
    modules: list[Module] = [
        Linear(f"{name}.in_proj", shape.hidden, (width, mixed, heads), shape.bias, (f"{name}.in_proj",)),
        *_convolution(name, mixed, shape.kernel, bias=shape.conv_bias),
        Table(f"{name}.A", heads, "float32"),
        Table(f"{name}.D", heads),
        Table(f"{name}.dt_bias", heads),
        Linear(f"{name}.out_proj", width, (shape.hidden,), shape.bias),
    ]
    if shape.norm:
        modules.append(Table(f"{name}.norm", width))
    state = State("mamba2", (shape.kernel - 1) * mixed, width * shape.state, shape.state_dtype, shape.chunk, mixed)
    return Mixer(tuple(modules), state)


def short_convolution(hidden: int, kernel: int, shard: Shard, name: str, *, bias: bool = False) -> Mixer:
    """Return a gated short convolution (LFM2)."""
    width = shard.divide(hidden, "short convolution")
    modules: tuple[Module, ...] = (
        Linear(f"{name}.in_proj", hidden, (width, width, width), bias, (f"{name}.in_proj",)),
        *_convolution(name, width, kernel, bias=bias),
        Linear(f"{name}.out_proj", width, (hidden,), bias),
    )
    return Mixer(modules, State("short_conv", (kernel - 1) * width, 0))


def _convolution(name: str, width: int, kernel: int, *, bias: bool) -> tuple[Module, ...]:
    weight = Table(f"{name}.conv1d", width * kernel)
    return (weight, Table(f"{name}.conv1d.bias", width)) if bias else (weight,)
