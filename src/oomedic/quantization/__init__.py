"""Quantisation methods, one file per way of storing weights; ``scheme_of`` picks the one that a checkpoint uses.

A method that is not known gives None: the size of its weights then comes from the catalogue or from the user.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from oomedic.quantization.bitsandbytes import BitsAndBytes
from oomedic.quantization.four_bit_floats import MxFp4, NvFp4
from oomedic.quantization.fp8 import EightBit, Scales
from oomedic.quantization.gguf import Gguf, bits_of_mix
from oomedic.quantization.integers import PackedIntegers
from oomedic.quantization.plain import plain
from oomedic.quantization.scheme import Scheme, plain_linear
from oomedic.quantization.skipping import skipper

__all__ = ["Scheme", "scheme_of"]

Block = Mapping[str, Any]
"""A checkpoint's quantization_config."""

_NAMES: Final = {
    "awq_marlin": "awq",
    "auto_awq": "awq",
    "gptq_marlin": "gptq",
    "auto_gptq": "gptq",
    "modelopt_fp4": "modelopt",
    "modelopt_mixed": "modelopt",
    "gpt_oss_mxfp4": "mxfp4",
    "auto-round": "auto_round",
    "inc": "auto_round",
    "deepseek_v4_fp8": "fp8",
}


def scheme_of(config: Mapping[str, Any], argument: str | None, element_bytes: int, name: str = "") -> Scheme | None:
    """Return how the weights of a checkpoint are stored on the GPU, None when the method is not known.

    Args:
        config: the whole config.json, with ``quantization_config`` where the checkpoint is quantised.
        argument: the engine argument ``quantization``, which quantises a plain checkpoint while loading.
        element_bytes: size of an unquantised element.
        name: id or file name, which tells the mix of a GGUF file.
    """
    block = quantization_block(config)
    method = method_of(block) or (argument and _NAMES.get(argument, argument))
    if method is None and (name.lower().endswith(".gguf") or "gguf" in name.lower()):
        method = "gguf"
    if method is None:
        return plain(element_bytes)
    reader = _READERS.get(method)
    return reader(block, element_bytes, name) if reader else None


def quantization_block(config: Mapping[str, Any]) -> Block:
    """Return the quantization_config, with what ModelOpt keeps in hf_quant_config.json folded in."""
    text = config.get("text_config") or {}
    block = dict(config.get("quantization_config") or text.get("quantization_config") or {})
    separate = config.get("hf_quant_config") or block.pop("hf_quant_config", None)
    if separate:
        block = {"quant_method": "modelopt", **separate.get("quantization", separate), **block}
    if "quant_algo" in block:
        block.setdefault("quant_method", "modelopt")
    return block


def method_of(block: Block) -> str | None:
    """Return the method's name as this package files it."""
    method = block.get("quant_method")
    if method is None:
        return None
    return _NAMES.get(str(method).lower(), str(method).lower())


def _entries(block: Block) -> Sequence[str]:
    for key in ("modules_to_not_convert", "ignore", "ignored_layers", "exclude_modules", "llm_int8_skip_modules"):
        listed = block.get(key)
        if isinstance(listed, Mapping):
            return tuple(listed.get("_patterns", ()))
        if listed:
            return tuple(listed)
    return ()


def _scheme(method: str, block: Block, element_bytes: int, kind: Any) -> Scheme:
    return Scheme(method, element_bytes, kind.linear, kind.experts, skipper(_entries(block)), _kv_cache_dtype(block))


def _kv_cache_dtype(block: Block) -> str | None:
    algorithm = block.get("kv_cache_quant_algo")
    scheme = block.get("kv_cache_scheme")
    if str(algorithm).upper() == "FP8" or (scheme and scheme.get("num_bits") == 8):
        return "fp8"
    return None


def _fp8(block: Block, element_bytes: int, _name: str) -> Scheme:
    size = block.get("weight_block_size")
    kind = EightBit(
        "block" if size else "tensor",
        tuple(size) if size else (128, 128),
        block.get("activation_scheme") == "static",
        element_bytes,
    )
    return _scheme("fp8", block, element_bytes, kind)


def _awq(block: Block, element_bytes: int, _name: str) -> Scheme:
    bits = int(block.get("bits") or block.get("w_bit") or 4)
    group = int(block.get("group_size") or block.get("q_group_size") or 128)
    kind = PackedIntegers(bits, group, zero_points=bool(block.get("zero_point", True)), element_bytes=element_bytes)
    return _scheme("awq", block, element_bytes, kind)


def _gptq(block: Block, element_bytes: int, _name: str) -> Scheme:
    kind = PackedIntegers(
        int(block.get("bits") or 4),
        int(block.get("group_size") or 128),
        zero_points=True,
        group_index=True,
        element_bytes=element_bytes,
    )
    return _scheme("gptq", block, element_bytes, kind)


def _auto_round(block: Block, element_bytes: int, name: str) -> Scheme:
    packing = str(block.get("packing_format") or block.get("format") or "")
    return (_awq if "awq" in packing else _gptq)(block, element_bytes, name)


def _bitsandbytes(block: Block, element_bytes: int, _name: str) -> Scheme:
    bits = 8 if block.get("load_in_8bit") else 4
    kind = BitsAndBytes(bits, bool(block.get("bnb_4bit_use_double_quant", True)), element_bytes)
    return _scheme("bitsandbytes", block, element_bytes, kind)


def _gguf(block: Block, element_bytes: int, name: str) -> Scheme | None:
    bits = bits_of_mix(name)
    return _scheme("gguf", block, element_bytes, Gguf(bits, element_bytes)) if bits else None


def _mxfp4(block: Block, element_bytes: int, _name: str) -> Scheme:
    kind = MxFp4(64, 1, element_bytes)

    def linear(module: Any) -> tuple[int, ...]:
        return plain_linear(module, element_bytes)

    return Scheme("mxfp4", element_bytes, linear, kind.experts, skipper(("lm_head",)))


def _modelopt(block: Block, element_bytes: int, _name: str) -> Scheme | None:
    algorithm = str(block.get("quant_algo", "")).upper()
    if algorithm == "NVFP4":
        return _scheme("modelopt", block, element_bytes, NvFp4(int(block.get("group_size") or 16), 1, element_bytes))
    if algorithm in {"FP8", "FP8_PER_CHANNEL_PER_TOKEN"}:
        static = algorithm == "FP8"
        kind = EightBit("tensor" if static else "channel", static_inputs=static, element_bytes=element_bytes)
        return _scheme("modelopt", block, element_bytes, kind)
    return None


def _compressed_tensors(block: Block, element_bytes: int, _name: str) -> Scheme | None:
    groups = block.get("config_groups") or {}
    if len(groups) != 1:
        return None
    group = next(iter(groups.values()))
    kind = _compressed_kind(group, element_bytes)
    return _scheme("compressed-tensors", block, element_bytes, kind) if kind else None


def _compressed_kind(group: Block, element_bytes: int) -> Any:
    weights = group.get("weights") or {}
    inputs = group.get("input_activations") or {}
    bits, strategy = weights.get("num_bits"), weights.get("strategy")
    static = bool(inputs) and inputs.get("dynamic") is False
    if weights.get("type") == "float" and bits == 4:
        return NvFp4(int(weights.get("group_size") or 16), 1 if inputs else 0, element_bytes)
    if inputs and bits == 8:
        scales: Scales = strategy if strategy in {"tensor", "channel", "block"} else "channel"
        structure = weights.get("block_structure") or (128, 128)
        return EightBit(scales, tuple(structure), static, element_bytes)
    if bits in {4, 8}:
        size = weights.get("group_size") or -1
        asymmetric = weights.get("symmetric") is False
        return PackedIntegers(bits, int(size), asymmetric, shape_tensor=True, element_bytes=element_bytes)
    return None


_READERS: Final = {
    "fp8": _fp8,
    "awq": _awq,
    "gptq": _gptq,
    "auto_round": _auto_round,
    "bitsandbytes": _bitsandbytes,
    "gguf": _gguf,
    "mxfp4": _mxfp4,
    "modelopt": _modelopt,
    "compressed-tensors": _compressed_tensors,
}
