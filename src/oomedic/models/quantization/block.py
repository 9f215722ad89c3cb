"""The parts of a quantization_config that all methods share."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from oomedic.models.modules import NEWEST
from oomedic.models.quantization.scheme import Kind, Scheme
from oomedic.models.quantization.skipping import exact_skipper, mentions_layers, skipper

Block = Mapping[str, Any]
"""A checkpoint's quantization_config."""


_VOCABULARY: Final = ("lm_head", "embed_tokens")
"""Matrices that few methods quantise."""


class Origin(NamedTuple):
    """What a method depends on outside its block: see ``scheme_of``."""

    element_bytes: int
    name: str = ""
    release: Mapping[str, Any] = NEWEST
    capability: tuple[int, int] = (9, 0)
    expert_dtype: str | None = None


def uniform(method: str, block: Block, origin: Origin, kind: Kind) -> Scheme:
    """Make the scheme of a method that stores everything in one way, but for a list that it leaves alone."""
    listed = entries(block)
    skips = exact_skipper(listed) if method == "fp8" else skipper(listed)

    def kind_of(name: str) -> Kind | None:
        return None if name.endswith(_VOCABULARY) or skips(name) else kind

    return Scheme(method, origin.element_bytes, kind_of, mentions_layers(listed), declared_kv_dtype(block))


def entries(block: Block) -> Sequence[str]:
    """Return the modules that the method leaves alone, by any of the keys that such a list stands under."""
    for key in ("modules_to_not_convert", "ignore", "ignored_layers", "exclude_modules", "llm_int8_skip_modules"):
        listed = block.get(key)
        if isinstance(listed, Mapping):
            return tuple(listed.get("_patterns", ()))
        if listed:
            return tuple(listed)
    return ()


def declared_kv_dtype(block: Block) -> str | None:
    """Return the dtype of the KV cache that the checkpoint asks for."""
    algorithm = block.get("kv_cache_quant_algo")
    scheme = block.get("kv_cache_scheme")
    if str(algorithm).upper() == "FP8" or str(scheme).upper() == "FP8":
        return "fp8"
    return "fp8" if isinstance(scheme, Mapping) and scheme.get("num_bits") == 8 else None
