"""Packed integers with a scale per group: AWQ, GPTQ, AutoRound and compressed-tensors W4A16 and W8A16.

Mirrors the parameters that vllm/model_executor/layers/quantization/{awq,gptq,auto_awq,auto_gptq}_marlin.py and
compressed_tensors/schemes/compressed_tensors_wNa16.py create; the Marlin repack that follows keeps the sizes.
"""

from typing import NamedTuple

from oomedic.errors import UsageError
from oomedic.models.modules import Experts, Linear
from oomedic.models.quantization.block import Block, Origin, uniform
from oomedic.models.quantization.scheme import Scheme, Sizes, bias_of, blocks, rows_of_w13


class PackedIntegers(NamedTuple):
    """``bits`` per weight, a scale per ``group_size`` inputs (-1: per output), zero points and g_idx where kept.

    ``ordered`` when inputs are sorted by activation (desc_act, actorder): only then the index is needed.
    """

    bits: int
    group_size: int
    zero_points: bool
    group_index: bool = False
    shape_tensor: bool = False
    element_bytes: int = 2
    expert_index: bool = False
    ordered: bool = False

    def after_loading(self) -> "PackedIntegers":
        """Return what stays once Marlin has repacked the weights: an index that orders nothing is emptied.

        gptq_marlin.py and compressed_tensors_moe.py process_weights_after_loading (0.10.0: torch.empty((experts, 0))).
        """
        return self if self.ordered else self._replace(group_index=False, expert_index=False)

    def linear(self, module: Linear) -> Sizes:
        """Return packed weight, scales, zero points, g_idx and bias of a matrix.

        Raises:
            UsageError: ``not-whole-blocks`` when a group would straddle two ranks, which no kernel can do.
        """
        if self.group_size > 0 and module.inputs % self.group_size:
            raise UsageError("not-whole-blocks", what=module.name, size=module.inputs, block=self.group_size)
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


def read_awq(block: Block, origin: Origin) -> Scheme:
    """Read the block of an AWQ checkpoint."""
    bits = int(block.get("bits") or block.get("w_bit") or 4)
    group = int(block.get("group_size") or block.get("q_group_size") or 128)
    zero_points = bool(block.get("zero_point", True))
    kind = PackedIntegers(bits, group, zero_points=zero_points, element_bytes=origin.element_bytes)
    return uniform("awq", block, origin, kind)._replace(towers=False)


def read_gptq(block: Block, origin: Origin) -> Scheme:
    """Read the block of a GPTQ checkpoint."""
    kind = PackedIntegers(
        int(block.get("bits") or 4),
        int(block.get("group_size") or 128),
        zero_points=True,
        group_index=True,
        element_bytes=origin.element_bytes,
        ordered=bool(block.get("desc_act")),
    )
    return uniform("gptq", block, origin, kind)._replace(towers=False)


def read_auto_round(block: Block, origin: Origin) -> Scheme:
    """Read the block of an AutoRound checkpoint, which packs as AWQ or as GPTQ does."""
    packing = str(block.get("packing_format") or block.get("format") or "")
    return (read_awq if "awq" in packing else read_gptq)(block, origin)
