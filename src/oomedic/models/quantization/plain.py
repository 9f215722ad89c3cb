"""Weights as they are: bf16, fp16 or fp32."""

from oomedic.models.quantization.scheme import Scheme


def plain(element_bytes: int) -> Scheme:
    """Make the scheme of an unquantised checkpoint."""
    return Scheme(None, element_bytes, _as_it_is)


def _as_it_is(_name: str) -> None:
    return None
