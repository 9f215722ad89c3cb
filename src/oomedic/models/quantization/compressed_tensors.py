"""compressed-tensors: groups of targets, each with its own way of storing weights and activations.

Mirrors vllm/model_executor/layers/quantization/compressed_tensors. A target is a class ("Linear"), a module's name or
"re:" and a regular expression; the first group that matches a module stores it.
"""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from oomedic.models.quantization.block import Block, Origin, declared_kv_dtype, entries
from oomedic.models.quantization.four_bit_floats import nvfp4
from oomedic.models.quantization.fp8 import EightBit, Scales
from oomedic.models.quantization.integers import PackedIntegers
from oomedic.models.quantization.scheme import Kind, Scheme
from oomedic.models.quantization.skipping import mentions_layers, short_name, skipper


class Group(NamedTuple):
    """Modules that ``matches`` says yes to are stored in a ``kind``."""

    matches: Callable[[str], bool]
    kind: Kind


def read(block: Block, origin: Origin) -> Scheme | None:
    """Return the scheme of a checkpoint, None when one of its groups is not known."""
    groups = []
    targets: list[str] = []
    for group in (block.get("config_groups") or {}).values():
        kind = _kind(group, origin)
        if kind is None:
            return None
        named = tuple(group.get("targets") or ("Linear",))
        targets += named
        groups.append(Group(_target(named), kind))
    if not groups:
        return None
    listed = entries(block)
    skips = skipper(listed)

    def kind_of(name: str) -> Kind | None:
        if skips(name):
            return None
        return next((group.kind for group in groups if group.matches(name)), None)

    layered = mentions_layers((*listed, *targets))
    return Scheme("compressed-tensors", origin.element_bytes, kind_of, layered, declared_kv_dtype(block))


def _target(named: Sequence[str]) -> Callable[[str], bool]:
    if "Linear" in named:
        return lambda name: not name.endswith(("lm_head", "embed_tokens"))
    patterns = [re.compile(name[3:]) for name in named if name.startswith("re:")]
    exact = {short_name(name) for name in named if not name.startswith("re:")}

    def matches(name: str) -> bool:
        # the experts of a layer are one module here and many in the checkpoint
        spelled = (
            (name, f"{name}.0.gate_proj", f"{name}.0.w1", f"{name}.0.up_proj") if name.endswith("experts") else (name,)
        )
        if any(short_name(spelling) in exact for spelling in spelled):
            return True
        return any(pattern.match(spelling) for pattern in patterns for spelling in spelled)

    return matches


def _kind(group: Block, origin: Origin) -> Kind | None:
    weights = group.get("weights") or {}
    inputs = group.get("input_activations") or {}
    bits, strategy = weights.get("num_bits"), weights.get("strategy")
    static = bool(inputs) and inputs.get("dynamic") is False
    if weights.get("type") == "float" and bits == 4:
        return nvfp4(origin, int(weights.get("group_size") or 16), 1 if inputs else 0)
    if inputs and bits == 8:
        scales: Scales = strategy if strategy in {"tensor", "channel", "block"} else "channel"
        structure = weights.get("block_structure") or (128, 128)
        return EightBit(scales, tuple(structure), static, origin.element_bytes)
    if bits in {4, 8}:
        size = weights.get("group_size") or -1
        asymmetric = weights.get("symmetric") is False
        return PackedIntegers(
            bits,
            int(size),
            asymmetric,
            shape_tensor=True,
            element_bytes=origin.element_bytes,
            expert_index=True,
            ordered=weights.get("actorder") == "group",
        )
    return None
