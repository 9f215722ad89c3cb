"""Quantisation methods, one file per way of storing weights; ``scheme_of`` picks the one that a checkpoint uses.

A method that is not known gives None: the size of its weights then comes from the catalogue or from the user.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final

from oomedic.errors import InputError
from oomedic.models.hf_config import text_config
from oomedic.models.modules import NEWEST
from oomedic.models.quantization.block import Block, Origin
from oomedic.models.quantization.plain import plain
from oomedic.models.quantization.scheme import Scheme

__all__ = ["Scheme", "method_of", "quantization_block", "scheme_of"]

_NAMES: Final = {
    "awq_marlin": "awq",
    "auto_awq": "awq",
    "gptq_marlin": "gptq",
    "auto_gptq": "gptq",
    "modelopt_fp4": "modelopt",
    "modelopt_mixed": "modelopt",
    "modelopt_mxfp8": "modelopt",
    "gpt_oss_mxfp4": "mxfp4",
    "auto-round": "auto_round",
    "inc": "auto_round",
    "fp8_per_tensor": "fp8",
}
_READERS: Final = {
    "fp8": ("fp8", "read"),
    "awq": ("integers", "read_awq"),
    "gptq": ("integers", "read_gptq"),
    "auto_round": ("integers", "read_auto_round"),
    "bitsandbytes": ("bitsandbytes", "read"),
    "gguf": ("gguf", "read"),
    "mxfp4": ("four_bit_floats", "read_mxfp4"),
    "deepseek_v4_fp8": ("deepseek_v4", "read"),
    "modelopt": ("modelopt", "read"),
    "compressed-tensors": ("compressed_tensors", "read"),
}
"""Module and function of each method; only the module of the checkpoint at hand is loaded."""
_FP8_OF_ITS_OWN: Final = frozenset({"deepseek_v4", "deepseek_ref"})
"""Model types whose fp8 checkpoints the engine reads by a method of their own."""


def scheme_of(
    config: Mapping[str, Any],
    argument: str | None,
    element_bytes: int,
    name: str = "",
    *,
    release: Mapping[str, Any] = NEWEST,
    capability: tuple[int, int] = (9, 0),
) -> Scheme | None:
    """Return how the weights of a checkpoint are stored on the GPU, None when the method is not known.

    Args:
        config: the whole config.json, with ``quantization_config`` where the checkpoint is quantised.
        argument: the engine argument ``quantization``, which quantises a plain checkpoint while loading.
        element_bytes: size of an unquantised element.
        name: id or file name, which tells the mix of a GGUF file.
        release: what an older release does differently: the table [weights] of data/engines.
        capability: the compute capability, on which kernels depend, and so their padding and scales.
    """
    block = quantization_block(config)
    method = method_of(block) or (argument and _NAMES.get(argument, argument))
    if method == "fp8" and str(config.get("model_type")) in _FP8_OF_ITS_OWN:
        method = "deepseek_v4_fp8"
    if method is None and "gguf" in name.lower():
        method = "gguf"
    if method is None:
        return plain(element_bytes)
    if method not in _READERS:
        return None
    module, function = _READERS[method]
    reader: Callable[[Block, Origin], Scheme | None] = getattr(import_module(f"{__name__}.{module}"), function)
    try:
        return reader(block, Origin(element_bytes, name, release, capability, config.get("expert_dtype")))
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raise InputError("config-malformed", problem=str(error), model_type=str(config.get("model_type"))) from error


def quantization_block(config: Mapping[str, Any]) -> Block:
    """Return the quantization_config; where there is none, what ModelOpt keeps in hf_quant_config.json."""
    block = dict(
        _mapping(config.get("quantization_config")) or _mapping(text_config(config).get("quantization_config"))
    )
    separate = _mapping(config.get("hf_quant_config") or block.pop("hf_quant_config", None))
    if separate and not block:
        block = dict(_mapping(separate.get("quantization", separate)))
    if "quant_algo" in block:
        block.setdefault("quant_method", "modelopt")
    return block


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def method_of(block: Block) -> str | None:
    """Return the method's name as this package files it."""
    method = block.get("quant_method")
    if method is None:
        return None
    return _NAMES.get(str(method).lower(), str(method).lower())
