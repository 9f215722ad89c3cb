"""4-bit floats: NVFP4 (16 weights share an fp8 scale) and MXFP4 (32 weights share an exponent).

Mirrors vllm/model_executor/layers/quantization/{modelopt,mxfp4}.py and compressed_tensors_w4a4_nvfp4.py.
"""

from typing import NamedTuple

from oomedic.models.modules import Experts, Linear, round_up
from oomedic.models.quantization.block import Block, Origin, declared_kv_dtype
from oomedic.models.quantization.scheme import Scheme, Sizes, bias_of, plain_linear, rows_of_w13


class NvFp4(NamedTuple):
    """Two weights per byte, an fp8 scale per ``group_size`` and fp32 scales per tensor."""

    group_size: int = 16
    input_scales: int = 1
    element_bytes: int = 2

    def linear(self, module: Linear) -> Sizes:
        """Return packed weight, block scales and the global scales of each fused part."""
        elements = module.inputs * sum(module.outputs)
        scales = [len(module.outputs) * 4] * (1 + self.input_scales)
        return (
            elements // 2,
            sum(module.outputs) * (module.inputs // self.group_size),
            *scales,
            *bias_of(module, self.element_bytes),
        )

    def experts(self, module: Experts) -> Sizes:
        """Return the same for all experts of a layer."""
        up, parts = rows_of_w13(module), 2 if module.gated else 1
        w13, w2 = module.experts * up * module.hidden, module.experts * module.hidden * module.width
        scales = [module.experts * parts * 4, module.experts * 4] * (1 + self.input_scales)
        w13_scale = module.experts * up * (module.hidden // self.group_size)
        w2_scale = module.experts * module.hidden * (module.width // self.group_size)
        return (w13 // 2, w2 // 2, w13_scale, w2_scale, *scales)


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


def read_mxfp4(block: Block, origin: Origin) -> Scheme:
    """Read the block of an MXFP4 checkpoint; the padding depends on the GPU."""
    by_capability = origin.release.get("mxfp4_multiples", {})
    width, hidden = by_capability.get(str(origin.capability[0]), (64, 1))
    kind = MxFp4(width, hidden, origin.element_bytes)
    return Scheme("mxfp4", origin.element_bytes, lambda _name: kind, kv_cache_dtype=declared_kv_dtype(block))
