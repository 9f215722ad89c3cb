"""4-bit floats: NVFP4 (16 weights share an fp8 scale) and MXFP4 (32 weights share an exponent).

Mirrors vllm/model_executor/layers/quantization/{modelopt,mxfp4}.py and compressed_tensors_w4a4_nvfp4.py.
"""

from typing import Final, NamedTuple

from oomedic.models.modules import Experts, Linear, round_up
from oomedic.models.quantization.block import Block, Origin, declared_kv_dtype
from oomedic.models.quantization.scheme import Scheme, Sizes, bias_of, plain_linear, rows_of_w13

_TILE_ROWS: Final = 128
_TILE_COLUMNS: Final = 4
_NATIVE: Final = (10, 0)
"""The first compute capability with NVFP4; before, Marlin keeps the scales as they are."""


class NvFp4(NamedTuple):
    """Two weights per byte, an fp8 scale per ``group_size`` and fp32 scales per tensor.

    ``swizzled`` on cards that compute in NVFP4: scales fill whole tiles of 128 rows by 4 columns, and experts without a
    gate are widened to match (vllm flashinfer_fp4_moe.py prepare_nvfp4_moe_layer_for_fi_or_cutlass, before 0.15
    modelopt.py ModelOptNvFp4FusedMoE.process_weights_after_loading).
    """

    group_size: int = 16
    input_scales: int = 1
    element_bytes: int = 2
    swizzled: bool = False

    def linear(self, module: Linear) -> Sizes:
        """Return packed weight, block scales and the global scales of each fused part."""
        elements = module.inputs * sum(module.outputs)
        scales = [len(module.outputs) * 4] * (1 + self.input_scales)
        return (
            elements // 2,
            self._scales(sum(module.outputs), module.inputs),
            *scales,
            *bias_of(module, self.element_bytes),
        )

    def experts(self, module: Experts) -> Sizes:
        """Return the same for all experts of a layer."""
        if self.swizzled and not module.gated:
            module = module._replace(width=round_up(module.width, _TILE_ROWS))
        up, parts = rows_of_w13(module), 2 if module.gated else 1
        w13, w2 = module.experts * up * module.hidden, module.experts * module.hidden * module.width
        scales = [module.experts * parts * 4, module.experts * 4] * (1 + self.input_scales)
        w13_scale = module.experts * self._scales(up, module.hidden)
        w2_scale = module.experts * self._scales(module.hidden, module.width)
        return (w13 // 2, w2 // 2, w13_scale, w2_scale, *scales)

    def _scales(self, rows: int, inputs: int) -> int:
        columns = inputs // self.group_size
        return round_up(rows, _TILE_ROWS) * round_up(columns, _TILE_COLUMNS) if self.swizzled else rows * columns


class MxFp4(NamedTuple):
    """Experts in 4 bits with padding that depends on the kernel; everything else stays as it is.

    ``width_multiple`` and ``hidden_multiple`` are what the expert shapes are padded to.
    """

    width_multiple: int
    hidden_multiple: int
    element_bytes: int = 2
    group_size: int = 32

    def linear(self, module: Linear) -> Sizes:
        """Return the tensors of a matrix, which gpt-oss leaves in 16 bits."""
        return plain_linear(module, self.element_bytes)

    def experts(self, module: Experts) -> Sizes:
        """Return packed weights, exponents and biases."""
        width = round_up(module.width, self.width_multiple)
        hidden = round_up(module.hidden, self.hidden_multiple)
        up = width * (2 if module.gated else 1)
        w13, w2 = module.experts * up * hidden, module.experts * hidden * width
        tensors = [w13 // 2, w2 // 2, w13 // self.group_size, w2 // self.group_size]
        if module.bias:
            tensors += [module.experts * up * self.element_bytes, module.experts * hidden * self.element_bytes]
        return tuple(tensors)


def nvfp4(origin: Origin, group_size: int, input_scales: int = 1) -> NvFp4:
    """Return how NVFP4 weights are stored on the card at hand."""
    return NvFp4(group_size, input_scales, origin.element_bytes, swizzled=origin.capability >= _NATIVE)


def read_mxfp4(block: Block, origin: Origin) -> Scheme:
    """Read the block of an MXFP4 checkpoint; the padding depends on the GPU."""
    by_capability = origin.release.get("mxfp4_multiples", {})
    width, hidden = by_capability.get(str(origin.capability[0]), (64, 1))
    kind = MxFp4(width, hidden, origin.element_bytes)
    return Scheme("mxfp4", origin.element_bytes, lambda _name: kind, kv_cache_dtype=declared_kv_dtype(block))
