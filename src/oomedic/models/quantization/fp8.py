"""8-bit floats: one scale per tensor, per channel or per block (vllm fp8.py, compressed_tensors w8a8, modelopt FP8)."""

from math import gcd
from typing import Literal, NamedTuple

from oomedic.errors import UsageError
from oomedic.models.modules import Experts, Linear
from oomedic.models.quantization.block import Block, Origin, entries, uniform
from oomedic.models.quantization.scheme import Scheme, Sizes, bias_of, blocks, rows_of_w13

Scales = Literal["tensor", "channel", "block"]

SCALE_BYTES = 4
"""Scales are float32."""
_NATIVE = (8, 9)
"""The first compute capability with fp8."""
_MARLIN_SCALE_BYTES = 2


class EightBit(NamedTuple):
    """How 8-bit weights are scaled; ``static_inputs`` when the checkpoint carries activation scales too.

    ``refines_blocks`` when an expert whose width on a rank is not whole blocks gets smaller ones, else it is refused.
    ``spread`` when the card cannot compute in fp8: Marlin keeps a 16-bit scale of each column for every block of rows
    (vllm/model_executor/layers/quantization/utils/marlin_utils_fp8.py).
    """

    scales: Scales
    block: tuple[int, int] = (128, 128)
    static_inputs: bool = False
    element_bytes: int = 2
    refines_blocks: bool = True
    scale_bytes: int = SCALE_BYTES
    spread: bool = False

    def linear(self, module: Linear) -> Sizes:
        """Return weight, scales and bias of a matrix."""
        outputs = sum(module.outputs)
        tensors = [module.inputs * outputs, *bias_of(module, self.element_bytes)]
        if self.scales == "block":
            tensors.append(self._scales(module.inputs, outputs, self.block, self.scale_bytes))
        elif self.scales == "channel":
            tensors.append(outputs * SCALE_BYTES)
        else:
            tensors.append(len(module.outputs) * SCALE_BYTES)
        if self.static_inputs:
            tensors.append(len(module.outputs) * SCALE_BYTES)
        return tuple(tensors)

    def experts(self, module: Experts) -> Sizes:
        """Return w13, w2 and their scales for all experts of a layer."""
        up, parts = rows_of_w13(module), 2 if module.gated else 1
        tensors = [module.experts * up * module.hidden, module.experts * module.hidden * module.width]
        if self.scales == "block":
            rows, columns = self._fitting_block(module)
            fitting = (rows, columns)
            tensors.append(module.experts * parts * self._scales(module.hidden, module.width, fitting, SCALE_BYTES))
            tensors.append(module.experts * self._scales(module.width, module.hidden, fitting, SCALE_BYTES))
        elif self.scales == "channel":
            tensors += [module.experts * up * SCALE_BYTES, module.experts * module.hidden * SCALE_BYTES]
        else:
            tensors += [module.experts * parts * SCALE_BYTES, module.experts * SCALE_BYTES]
        if self.static_inputs:
            tensors += [module.experts * SCALE_BYTES, module.experts * SCALE_BYTES]
        return tuple(tensors)

    def _scales(self, inputs: int, outputs: int, block: tuple[int, int], scale_bytes: int) -> int:
        rows, columns = block
        if self.spread:
            return blocks(inputs, columns) * outputs * _MARLIN_SCALE_BYTES
        return blocks(outputs, rows) * blocks(inputs, columns) * scale_bytes

    def _fitting_block(self, module: Experts) -> tuple[int, int]:
        rows, columns = self.block
        if module.width % rows == 0:
            return rows, columns
        if not self.refines_blocks:
            raise UsageError("not-whole-blocks", what=module.name, size=module.width, block=rows)
        return gcd(module.width, rows), gcd(module.width, columns)


class MxFp8(NamedTuple):
    """8-bit floats with an exponent for each 32 inputs of a row."""

    group_size: int = 32
    element_bytes: int = 2

    def linear(self, module: Linear) -> Sizes:
        """Return weight, exponents and bias of a matrix."""
        outputs = sum(module.outputs)
        exponents = outputs * blocks(module.inputs, self.group_size)
        return (module.inputs * outputs, exponents, *bias_of(module, self.element_bytes))

    def experts(self, module: Experts) -> Sizes:
        """Return w13, w2 and their exponents."""
        up = rows_of_w13(module)
        return (
            module.experts * up * module.hidden,
            module.experts * module.hidden * module.width,
            module.experts * up * blocks(module.hidden, self.group_size),
            module.experts * module.hidden * blocks(module.width, self.group_size),
        )


def block_shape(block: Block) -> tuple[int, int]:
    """Return the rows and columns that share a scale, 128 x 128 unless the checkpoint says something else."""
    rows, columns = block.get("weight_block_size") or (128, 128)
    return max(1, int(rows)), max(1, int(columns))


def read(block: Block, origin: Origin) -> Scheme:
    """Read the block of an fp8 checkpoint, with scales per tensor or per block.

    Published ones list their towers among what is left alone; a block without any list is a catalogue's short form.
    """
    kind = EightBit(
        "block" if block.get("weight_block_size") else "tensor",
        block_shape(block),
        block.get("activation_scheme") == "static",
        origin.element_bytes,
        refines_blocks=bool(origin.release.get("fp8_refines_blocks", True)),
        spread=origin.capability < _NATIVE,
    )
    return uniform("fp8", block, origin, kind)._replace(towers=not block or bool(entries(block)))
