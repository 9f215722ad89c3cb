"""How a checkpoint stores its weights, what a card needs for it, and what it does to answers."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from oomedic.gpu import Gpu
from oomedic.models.quantization import method_of, quantization_block
from oomedic.version import Version, parse_version

Row = Mapping[str, Any]
Capability = tuple[int, int]

PLAIN = "plain"
MIXED = "mixed"


class Format(NamedTuple):
    """One way of storing weights.

    Attributes:
        key: as ``format_of`` names it.
        minimum: the lowest compute capability, by the release from which on it holds, oldest first.
        native: the capability from which on the card computes in it, None where weights are always unpacked.
        words: the end of a checkpoint's name that says so; none where no recipe is usual.
        quality: the id of a message about answers, and ``source`` where it was found.
    """

    key: str
    name: str
    minimum: tuple[tuple[Version, Capability], ...]
    native: Capability | None = None
    words: tuple[str, ...] = ()
    quality: str | None = None
    source: str | None = None

    def needs(self, version: Version) -> Capability:
        """Return the lowest compute capability in a release."""
        held = [capability for since, capability in self.minimum if since <= version]
        return held[-1] if held else self.minimum[0][1]

    def runs_on(self, gpu: Gpu, version: Version) -> bool:
        """Tell whether a card can hold and compute these weights in a release; unknown capabilities are let pass."""
        return gpu.capability is None or gpu.capability >= self.needs(version)


def formats_of(rows: Iterable[Row]) -> Mapping[str, Format]:
    """Read data/formats.toml, by key: what changes answers least comes first."""
    return {row["key"]: _format(row) for row in rows}


def format_of(config: Mapping[str, Any]) -> str:
    """Return the key of the format that a model's config declares; ``plain`` where it declares none.

    >>> format_of({"quantization_config": {"quant_method": "gptq", "bits": 8}}), format_of({})
    ('gptq-8', 'plain')
    """
    block = quantization_block(config)
    method = method_of(block)
    if method is None:
        return PLAIN
    if method == "compressed-tensors":
        return _of_groups(block.get("config_groups") or {})
    if method == "modelopt" or "quant_algo" in block:
        return {"FP8": "fp8", "NVFP4": "nvfp4"}.get(str(block.get("quant_algo")), MIXED)
    if method == "gptq":
        return "gptq-8" if block.get("bits") == 8 else "gptq-4"
    return {"auto_round": "int4", "fbgemm_fp8": "fp8"}.get(method, method)


def _of_groups(groups: Mapping[str, Any]) -> str:
    keys = {_of_group(group) for group in groups.values()}
    return keys.pop() if len(keys) == 1 else MIXED


def _of_group(group: Mapping[str, Any]) -> str:
    weights, inputs = group.get("weights") or {}, group.get("input_activations")
    bits = weights.get("num_bits")
    if weights.get("type") == "float":
        size = weights.get("group_size")
        return "fp8" if bits == 8 else "mxfp4" if size == 32 else "nvfp4"
    if bits == 8:
        return "int8" if inputs else "int8-weights"
    return "int4"


def _format(row: Row) -> Format:
    minimum = ((_version(since), _pair(least)) for since, least in row["minimum"].items())
    native = row.get("native")
    return Format(
        row["key"],
        row["name"],
        tuple(sorted(minimum)),
        None if native is None else _pair(native),
        tuple(row.get("words", ())),
        row.get("quality"),
        row.get("source"),
    )


def _version(text: str) -> Version:
    version = parse_version(text)
    if version is None:
        raise ValueError(text)
    return version


def _pair(capability: str) -> Capability:
    major, _, minor = capability.partition(".")
    return int(major), int(minor)
