"""GGUF: block-quantised tensors of llama.cpp; the file's own types are read when it is at hand.

Without the file only the name of the mix is known ("Q4_K_M"); its mean of bits per weight then stands for all matrices.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from oomedic.models.modules import Experts, Linear
from oomedic.models.quantization.block import Block, Origin, declared_kv_dtype
from oomedic.models.quantization.scheme import Scheme, Sizes, bias_of, rows_of_w13

BITS_PER_WEIGHT: Final[Mapping[str, float]] = {
    "F16": 16,
    "BF16": 16,
    "Q8_0": 8.5,
    "Q6_K": 6.5625,
    "Q5_K": 5.5,
    "Q5_0": 5.5,
    "Q5_1": 6.0,
    "Q4_K": 4.5,
    "Q4_0": 4.5,
    "Q4_1": 5.0,
    "IQ4_NL": 4.5,
    "IQ4_XS": 4.25,
    "Q3_K": 3.4375,
    "IQ3_S": 3.4375,
    "IQ3_XXS": 3.0625,
    "Q2_K": 2.625,
    "IQ2_S": 2.5,
    "IQ2_XS": 2.3125,
    "IQ2_XXS": 2.0625,
    "IQ1_M": 1.75,
    "IQ1_S": 1.5625,
}
"""Bits per weight of each block type (ggml quants)."""

MIX_BITS: Final[Mapping[str, float]] = {
    "Q4_K_M": 4.85,
    "Q4_K_S": 4.58,
    "Q5_K_M": 5.68,
    "Q5_K_S": 5.54,
    "Q3_K_L": 4.27,
    "Q3_K_M": 3.91,
    "Q3_K_S": 3.50,
    "Q2_K": 3.00,
}
"""Mean bits per weight of llama.cpp's named mixes for a Llama-shaped model (its quantize tool prints them)."""


class Gguf(NamedTuple):
    """All matrices at one mean of bits per weight."""

    bits: float
    element_bytes: int = 2

    def linear(self, module: Linear) -> Sizes:
        """Return the packed matrix and its bias."""
        packed = round(module.inputs * sum(module.outputs) * self.bits / 8)
        return (packed, *bias_of(module, self.element_bytes))

    def experts(self, module: Experts) -> Sizes:
        """Return the packed experts of a layer."""
        elements = module.experts * module.hidden * (rows_of_w13(module) + module.width)
        return (round(elements * self.bits / 8),)


def bits_of_mix(name: str) -> float | None:
    """Return the bits per weight of the mix that a file name ends in, None when it names none."""
    upper = name.upper().removesuffix(".GGUF")
    for table in (MIX_BITS, BITS_PER_WEIGHT):
        for mix in sorted(table, key=len, reverse=True):
            if upper.endswith(mix):
                return table[mix]
    return None


def read(block: Block, origin: Origin) -> Scheme | None:
    """Read the mix of a GGUF file from its name, None where the name does not tell."""
    bits = bits_of_mix(origin.name)
    if bits is None:
        return None
    kind = Gguf(bits, origin.element_bytes)
    # embedding and output projection stay quantised too
    return Scheme("gguf", origin.element_bytes, lambda _name: kind, kv_cache_dtype=declared_kv_dtype(block))
