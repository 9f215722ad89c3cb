"""8-bit floats: one scale per tensor, per channel or per block (vllm fp8.py, compressed_tensors w8a8, modelopt FP8)."""

from typing import Literal, NamedTuple

from oomedic.modules import Experts, Linear
from oomedic.quantization.scheme import Sizes, bias_of, blocks, rows_of_w13

Scales = Literal["tensor", "channel", "block"]

SCALE_BYTES = 4
"""Scales are float32."""


class EightBit(NamedTuple):
    """How 8-bit weights are scaled; ``static_inputs`` when the checkpoint carries activation scales too."""

    scales: Scales
    block: tuple[int, int] = (128, 128)
    static_inputs: bool = False
    element_bytes: int = 2

    def linear(self, module: Linear) -> Sizes:
        """Return weight, scales and bias of a matrix."""
        outputs = sum(module.outputs)
        tensors = [module.inputs * outputs, *bias_of(module, self.element_bytes)]
        if self.scales == "block":
            tensors.append(blocks(outputs, self.block[0]) * blocks(module.inputs, self.block[1]) * SCALE_BYTES)
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
            rows, columns = self.block
            tensors.append(
                module.experts * parts * blocks(module.width, rows) * blocks(module.hidden, columns) * SCALE_BYTES
            )
            tensors.append(module.experts * blocks(module.hidden, rows) * blocks(module.width, columns) * SCALE_BYTES)
        elif self.scales == "channel":
            tensors += [module.experts * up * SCALE_BYTES, module.experts * module.hidden * SCALE_BYTES]
        else:
            tensors += [module.experts * parts * SCALE_BYTES, module.experts * SCALE_BYTES]
        if self.static_inputs:
            tensors += [module.experts * SCALE_BYTES, module.experts * SCALE_BYTES]
        return tuple(tensors)
