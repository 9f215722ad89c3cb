"""bitsandbytes: 4-bit NF4 with double quantisation, or 8-bit with a scale per row."""

from typing import NamedTuple

from oomedic.models.modules import Experts, Linear
from oomedic.models.quantization.block import Block, Origin, uniform
from oomedic.models.quantization.scheme import Scheme, Sizes, bias_of, rows_of_w13


class BitsAndBytes(NamedTuple):
    """NF4 keeps a byte per 64 weights and an fp32 per 256 of those; ``nested`` False keeps fp32 per 64 weights."""

    bits: int = 4
    nested: bool = True
    element_bytes: int = 2

    def linear(self, module: Linear) -> Sizes:
        """Return packed weight and quantisation state of a matrix."""
        return (*self.matrix(module.inputs, sum(module.outputs)), *bias_of(module, self.element_bytes))

    def experts(self, module: Experts) -> Sizes:
        """Return the same for all experts of a layer; stacked states are not nested."""
        flat = self._replace(nested=False)
        up = flat.matrix(module.hidden, rows_of_w13(module))
        down = flat.matrix(module.width, module.hidden)
        return tuple(module.experts * size for size in (*up, *down))

    def matrix(self, inputs: int, outputs: int) -> Sizes:
        """Return the packed weight and its state."""
        elements = inputs * outputs
        if self.bits == 8:
            return (elements, outputs * 4)
        blocks = elements // 64
        return (elements // 2, blocks + blocks // 256 * 4) if self.nested else (elements // 2, blocks * 4)


def read(block: Block, origin: Origin) -> Scheme:
    """Read the block of a bitsandbytes checkpoint, or none: 4 bits with nested scales."""
    bits = 8 if block.get("load_in_8bit") else 4
    kind = BitsAndBytes(bits, bool(block.get("bnb_4bit_use_double_quant", True)), origin.element_bytes)
    return uniform("bitsandbytes", block, origin, kind)
