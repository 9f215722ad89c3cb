"""DeepSeek V4's own mixture: blocks of 8-bit floats with exponents as scales, experts in 4 bits.

Mirrors vllm/models/deepseek_v4/quant_config.py.
"""

from typing import NamedTuple

from oomedic.models.modules import Experts, Linear
from oomedic.models.quantization.block import Block, Origin, declared_kv_dtype, entries
from oomedic.models.quantization.four_bit_floats import MxFp4, NvFp4
from oomedic.models.quantization.fp8 import EightBit, block_shape
from oomedic.models.quantization.scheme import Kind, Scheme, Sizes
from oomedic.models.quantization.skipping import exact_skipper


class _Mixture(NamedTuple):
    """Matrices in one kind, experts in another."""

    of_matrices: Kind
    of_experts: Kind

    def linear(self, module: Linear) -> Sizes:
        """Return the tensors of a matrix."""
        return self.of_matrices.linear(module)

    def experts(self, module: Experts) -> Sizes:
        """Return the tensors of the experts."""
        return self.of_experts.experts(module)


def read(block: Block, origin: Origin) -> Scheme:
    """Return the scheme of a DeepSeek V4 checkpoint."""
    matrices = EightBit("block", block_shape(block), element_bytes=origin.element_bytes, scale_bytes=1)
    kind = _Mixture(matrices, _experts(block, origin, matrices))
    skips = exact_skipper(entries(block))

    def kind_of(name: str) -> Kind | None:
        return None if name.endswith(("lm_head", "embed_tokens")) or skips(name) else kind

    return Scheme("fp8", origin.element_bytes, kind_of, kv_cache_dtype=declared_kv_dtype(block))


def _experts(block: Block, origin: Origin, matrices: Kind) -> Kind:
    if str(block.get("moe_quant_algo")).upper() == "NVFP4":
        return NvFp4(int(block.get("group_size") or 16), 1, origin.element_bytes)
    return MxFp4(128, 128, origin.element_bytes) if origin.expert_dtype == "fp4" else matrices
