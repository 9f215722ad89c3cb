"""The parts that vision and audio towers share: patches, positions, transformer blocks, projectors.

A tower is a tuple of groups of modules; identical blocks are one and the same tuple. vLLM splits attention heads and
the MLP of most towers over tensor-parallel ranks like those of the language model.
"""

from typing import Literal, NamedTuple

from oomedic.models.modules import Linear, Module, Shard, Table

Tower = tuple[tuple[Module, ...], ...]
"""Groups of modules of an encoder with its projector."""


class Block(NamedTuple):
    """The shape of one transformer block of ``width`` with an MLP of ``inner``.

    ``name`` is what its modules are called in the checkpoint, with the number 0. ``norms`` counts LayerNorms or,
    without bias, RMSNorms.
    """

    name: str
    width: int
    heads: int
    inner: int
    head_size: int | None = None
    qkv_parts: tuple[str, ...] = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")
    out: str = "self_attn.out_proj"
    mlp: Literal["plain", "gated"] = "plain"
    mlp_parts: tuple[str, ...] = ("mlp.fc1", "mlp.fc2")
    qkv_bias: bool = True
    out_bias: bool = True
    mlp_bias: bool = True
    norms: int = 2
    norm_bias: bool = True


def block(shape: Block, shard: Shard) -> tuple[Module, ...]:
    """Return the modules of one block; the last of ``mlp_parts`` goes back to the width."""
    heads = shard.divide(shape.heads, "vision attention heads")
    size = heads * (shape.head_size or shape.width // shape.heads)
    inner = shard.divide(shape.inner, "vision intermediate_size")
    *up, down = (f"{shape.name}.{part}" for part in shape.mlp_parts)
    ups = (inner, inner) if shape.mlp == "gated" else (inner,)
    qkv = tuple(f"{shape.name}.{part}" for part in shape.qkv_parts)
    out = f"{shape.name}.{shape.out}"
    return (
        Linear(qkv[0], shape.width, (size, size, size), shape.qkv_bias, qkv),
        Linear(out, size, (shape.width,), shape.out_bias),
        Linear(up[0], shape.width, ups, shape.mlp_bias, tuple(up)),
        Linear(down, inner, (shape.width,), shape.mlp_bias),
        *norm_pair(shape.width, bias=shape.norm_bias) * shape.norms,
    )


def norm_pair(width: int, *, bias: bool = True) -> tuple[Module, ...]:
    """Return a normalisation's weight and bias."""
    return (Table("norm", width), Table("norm.bias", width)) if bias else (Table("norm", width),)


def patches(width: int, size: int, *, bias: bool, channels: int = 3, frames: int = 1) -> tuple[Module, ...]:
    """Return the convolution that turns patches of ``size`` x ``size`` pixels into vectors."""
    weight = Table("patch_embedding", channels * frames * size * size * width)
    return (weight, Table("patch_embedding.bias", width)) if bias else (weight,)


def unquantized(group: tuple[Module, ...]) -> tuple[Module, ...]:
    """Return the modules as ones that the engine never quantises."""
    return tuple(module._replace(quantized=False) if isinstance(module, Linear) else module for module in group)
