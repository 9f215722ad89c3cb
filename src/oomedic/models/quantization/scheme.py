"""What a quantisation method stores for a matrix, per tensor and to the byte."""

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from oomedic.models.modules import Experts, Linear, ceil_div

DTYPE_BYTES: Mapping[str, int] = {
    "float32": 4,
    "float": 4,
    "bfloat16": 2,
    "float16": 2,
    "half": 2,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
    "uint8": 1,
    "int8": 1,
    "bool": 1,
    "int32": 4,
    "int64": 8,
}
"""Bytes of one element, by torch's name of the type."""

Sizes = tuple[int, ...]
"""Bytes of each tensor that is allocated."""


class Kind(Protocol):
    """One way of storing matrices."""

    def linear(self, module: Linear) -> Sizes:
        """Return the bytes of each tensor of a matrix."""

    def experts(self, module: Experts) -> Sizes:
        """Return the bytes of each tensor of the stacked experts of a layer."""


class Scheme(NamedTuple):
    """A method as it applies to one checkpoint.

    ``kind_of`` gives by its name in the checkpoint ("model.layers.3.mlp.down_proj") how a module is stored, None where
    the method leaves it alone; ``per_layer`` when that may differ between layers. ``method`` is vLLM's own name of the
    method, None for plain weights; ``element_bytes`` is the size of an unquantised element; ``towers`` whether encoders
    of images, video and audio are quantised too where no list spares them.
    """

    method: str | None
    element_bytes: int
    kind_of: Callable[[str], Kind | None]
    per_layer: bool = False
    kv_cache_dtype: str | None = None
    towers: bool = True

    def skips(self, name: str) -> bool:
        """Tell whether a module stays unquantised."""
        return self.kind_of(name) is None


def plain_linear(module: Linear, element_bytes: int) -> Sizes:
    """Return the tensors of an unquantised matrix (vllm UnquantizedLinearMethod)."""
    return (module.inputs * sum(module.outputs) * element_bytes, *bias_of(module, element_bytes))


def plain_experts(module: Experts, element_bytes: int) -> Sizes:
    """Return the tensors of unquantised experts: w13, w2 and their biases (vllm UnquantizedFusedMoEMethod)."""
    up = rows_of_w13(module)
    weights = (
        module.experts * up * module.hidden * element_bytes,
        module.experts * module.hidden * module.width * element_bytes,
    )
    if not module.bias:
        return weights
    return (*weights, module.experts * up * element_bytes, module.experts * module.hidden * element_bytes)


def bias_of(module: Linear, element_bytes: int) -> Sizes:
    """Return the bias, which no method quantises."""
    return (sum(module.outputs) * element_bytes,) if module.bias else ()


def rows_of_w13(module: Experts) -> int:
    """Return the rows of the fused gate and up projection of one expert."""
    return module.width * (2 if module.gated else 1)


def blocks(size: int, block: int) -> int:
    """Return how many blocks cover ``size``."""
    return ceil_div(size, block)
