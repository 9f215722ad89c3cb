"""Weights as they are: bf16, fp16 or fp32."""

from oomedic.modules import Experts, Linear
from oomedic.quantization.scheme import Scheme, Sizes, never, plain_experts, plain_linear


def plain(element_bytes: int) -> Scheme:
    """Make the scheme of an unquantised checkpoint."""

    def linear(module: Linear) -> Sizes:
        return plain_linear(module, element_bytes)

    def experts(module: Experts) -> Sizes:
        return plain_experts(module, element_bytes)

    return Scheme(None, element_bytes, linear, experts, never)
