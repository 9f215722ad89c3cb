"""NVIDIA ModelOpt: one algorithm for all matrices, or one named for each (MIXED_PRECISION).

Mirrors vllm/model_executor/layers/quantization/modelopt.py.
"""

from collections.abc import Mapping

from oomedic.models.quantization.block import Block, Origin, declared_kv_dtype, entries, uniform
from oomedic.models.quantization.four_bit_floats import nvfp4
from oomedic.models.quantization.fp8 import EightBit, MxFp8
from oomedic.models.quantization.scheme import Kind, Scheme
from oomedic.models.quantization.skipping import short_name, skipper


def read(block: Block, origin: Origin) -> Scheme | None:
    """Return the scheme of a ModelOpt checkpoint, None when its algorithm is not known."""
    algorithm = str(block.get("quant_algo", "")).upper()
    if algorithm == "MIXED_PRECISION":
        return _mixed(block, origin)
    kind = _kind(algorithm, block, origin)
    return uniform("modelopt", block, origin, kind) if kind else None


def _kind(algorithm: str, block: Block, origin: Origin) -> Kind | None:
    element = origin.element_bytes
    group = int(block.get("group_size") or 16)
    if algorithm in {"NVFP4", "W4A16_NVFP4"}:
        return nvfp4(origin, group)
    if algorithm == "FP8":
        return EightBit("tensor", static_inputs=True, element_bytes=element)
    if algorithm == "FP8_PER_CHANNEL_PER_TOKEN":
        return EightBit("channel", element_bytes=element)
    if algorithm == "MXFP8":
        return MxFp8(element_bytes=element)
    if algorithm == "FP8_PB_WO":
        return EightBit("block", element_bytes=element)
    return None


def _mixed(block: Block, origin: Origin) -> Scheme | None:
    listed: Mapping[str, Block] = block.get("quantized_layers") or {}
    read_here = origin.release.get("modelopt_mixed")
    kinds: dict[str, Kind] = {}
    done: set[str] = set()
    for listed_name, entry in listed.items():
        # experts may be listed one by one: the stack of a layer is stored as the first of them
        before, among_experts, _ = listed_name.partition(".experts.")
        name = f"{before}.experts" if among_experts else listed_name
        algorithm = str(entry.get("quant_algo")).upper() if name not in done else ""
        done.add(name)
        if not algorithm or (read_here is not None and algorithm not in read_here):
            continue  # this release leaves it unquantised
        kind = _kind(algorithm, entry, origin)
        if kind is None:
            return None
        kinds[short_name(name)] = kind
    skips = skipper(entries(block))

    def kind_of(name: str) -> Kind | None:
        short = short_name(name)
        return None if skips(name) else kinds.get(short)

    return Scheme("modelopt", origin.element_bytes, kind_of, per_layer=True, kv_cache_dtype=declared_kv_dtype(block))
