"""Quantisation methods, one file per way of storing weights; ``scheme_of`` picks the one that a checkpoint uses.

A method that is not known gives None: the size of its weights then comes from the catalogue or from the user.
"""

from collections.abc import Mapping
from typing import Any, Final

from oomedic.modules import NEWEST
from oomedic.quantization import compressed_tensors, deepseek_v4, modelopt
from oomedic.quantization.bitsandbytes import BitsAndBytes
from oomedic.quantization.block import Block, Origin, declared_kv_dtype, uniform
from oomedic.quantization.four_bit_floats import MxFp4
from oomedic.quantization.fp8 import EightBit
from oomedic.quantization.gguf import Gguf, bits_of_mix
from oomedic.quantization.integers import PackedIntegers
from oomedic.quantization.plain import plain
from oomedic.quantization.scheme import Scheme

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
_FP8_OF_ITS_OWN: Final = frozenset({"deepseek_v4", "deepseek_ref"})
"""Model types whose fp8 checkpoints the engine reads by a method of their own."""


def scheme_of(
    config: Mapping[str, Any],
    argument: str | None,
    element_bytes: int,
    name: str = "",
    *,
    release: Mapping[str, Any] = NEWEST,
    capability: int = 9,
) -> Scheme | None:
    """Return how the weights of a checkpoint are stored on the GPU, None when the method is not known.

    Args:
        config: the whole config.json, with ``quantization_config`` where the checkpoint is quantised.
        argument: the engine argument ``quantization``, which quantises a plain checkpoint while loading.
        element_bytes: size of an unquantised element.
        name: id or file name, which tells the mix of a GGUF file.
        release: what an older release does differently: the table [weights] of data/engines.
        capability: the major compute capability, on which kernels and so their padding depend.
    """
    block = quantization_block(config)
    method = method_of(block) or (argument and _NAMES.get(argument, argument))
    if method == "fp8" and config.get("model_type") in _FP8_OF_ITS_OWN:
        method = "deepseek_v4_fp8"
    if method is None and "gguf" in name.lower():
        method = "gguf"
    if method is None:
        return plain(element_bytes)
    reader = _READERS.get(method)
    return (
        reader(block, Origin(element_bytes, name, release, capability, config.get("expert_dtype"))) if reader else None
    )


def quantization_block(config: Mapping[str, Any]) -> Block:
    """Return the quantization_config; where there is none, what ModelOpt keeps in hf_quant_config.json."""
    text = config.get("text_config") or {}
    block = dict(config.get("quantization_config") or text.get("quantization_config") or {})
    separate = config.get("hf_quant_config") or block.pop("hf_quant_config", None)
    if separate and not block:
        block = dict(separate.get("quantization", separate))
    if "quant_algo" in block:
        block.setdefault("quant_method", "modelopt")
    return block


def method_of(block: Block) -> str | None:
    """Return the method's name as this package files it."""
    method = block.get("quant_method")
    if method is None:
        return None
    return _NAMES.get(str(method).lower(), str(method).lower())


def _fp8(block: Block, origin: Origin) -> Scheme:
    size = block.get("weight_block_size")
    kind = EightBit(
        "block" if size else "tensor",
        tuple(size) if size else (128, 128),
        block.get("activation_scheme") == "static",
        origin.element_bytes,
        refines_blocks=bool(origin.release.get("fp8_refines_blocks", True)),
    )
    return uniform("fp8", block, origin, kind)


def _awq(block: Block, origin: Origin) -> Scheme:
    bits = int(block.get("bits") or block.get("w_bit") or 4)
    group = int(block.get("group_size") or block.get("q_group_size") or 128)
    zero_points = bool(block.get("zero_point", True))
    kind = PackedIntegers(bits, group, zero_points=zero_points, element_bytes=origin.element_bytes)
    return uniform("awq", block, origin, kind)


def _gptq(block: Block, origin: Origin) -> Scheme:
    kind = PackedIntegers(
        int(block.get("bits") or 4),
        int(block.get("group_size") or 128),
        zero_points=True,
        group_index=True,
        element_bytes=origin.element_bytes,
    )
    return uniform("gptq", block, origin, kind)


def _auto_round(block: Block, origin: Origin) -> Scheme:
    packing = str(block.get("packing_format") or block.get("format") or "")
    return (_awq if "awq" in packing else _gptq)(block, origin)


def _bitsandbytes(block: Block, origin: Origin) -> Scheme:
    bits = 8 if block.get("load_in_8bit") else 4
    kind = BitsAndBytes(bits, bool(block.get("bnb_4bit_use_double_quant", True)), origin.element_bytes)
    return uniform("bitsandbytes", block, origin, kind)


def _gguf(block: Block, origin: Origin) -> Scheme | None:
    bits = bits_of_mix(origin.name)
    if bits is None:
        return None
    kind = Gguf(bits, origin.element_bytes)
    # embedding and output projection stay quantised too
    return Scheme("gguf", origin.element_bytes, lambda _name: kind, kv_cache_dtype=declared_kv_dtype(block))


def _mxfp4(block: Block, origin: Origin) -> Scheme:
    by_capability = origin.release.get("mxfp4_multiples", {})
    width, hidden = by_capability.get(str(origin.capability), (64, 1))
    kind = MxFp4(width, hidden, origin.element_bytes)
    return Scheme("mxfp4", origin.element_bytes, lambda _name: kind, kv_cache_dtype=declared_kv_dtype(block))


_READERS: Final = {
    "fp8": _fp8,
    "awq": _awq,
    "gptq": _gptq,
    "auto_round": _auto_round,
    "bitsandbytes": _bitsandbytes,
    "gguf": _gguf,
    "mxfp4": _mxfp4,
    "deepseek_v4_fp8": deepseek_v4.read,
    "modelopt": modelopt.read,
    "compressed-tensors": compressed_tensors.read,
}
