"""Packed integers with a scale per group: AWQ, GPTQ, AutoRound and compressed-tensors W4A16 and W8A16.

Mirrors the parameters that vllm/model_executor/layers/quantization/{awq,gptq,auto_awq,auto_gptq}_marlin.py and
compressed_tensors/schemes/compressed_tensors_wNa16.py create; the Marlin repack that follows keeps the sizes.
"""

from typing import NamedTuple

from oomedic.modules import Experts, Linear
from oomedic.quantization.scheme import Sizes, bias_of, blocks, rows_of_w13


class PackedIntegers(NamedTuple):
    """``bits`` per weight, a scale per ``group_size`` inputs (-1: per output), zero points and g_idx where kept."""

    bits: int
    group_size: int
    zero_points: bool
    group_index: bool = False
    shape_tensor: bool = False
    element_bytes: int = 2
    expert_index: bool = False

    def linear(self, module: Linear) -> Sizes:
        """Return packed weight, scales, zero points, g_idx and bias of a matrix."""
        tensors = [*self._matrix(module.inputs, sum(module.outputs)), *bias_of(module, self.element_bytes)]
        if self.group_index:
            tensors.append(module.inputs * 4)
        if self.shape_tensor:
            tensors.append(2 * 8)
        return tuple(tensors)

    def experts(self, module: Experts) -> Sizes:
        """Return the same for all experts of a layer, stacked."""
        up = self._matrix(module.hidden, rows_of_w13(module))
        down = self._matrix(module.width, module.hidden)
        tensors = [module.experts * size for size in (*up, *down)]
        if self.shape_tensor:
            tensors += [module.experts * 4] * 2
        if self.group_index or self.expert_index:
            # g_idx and its sort order, for w13 and for w2
            tensors += [module.experts * module.hidden * 4] * 2 + [module.experts * module.width * 4] * 2
        return tuple(tensors)

    def _matrix(self, inputs: int, outputs: int) -> Sizes:
        groups = 1 if self.group_size <= 0 else blocks(inputs, self.group_size)
        tensors = [inputs * outputs * self.bits // 8, groups * outputs * self.element_bytes]
        if self.zero_points:
            tensors.append(groups * outputs * self.bits // 8)
        return tuple(tensors)
