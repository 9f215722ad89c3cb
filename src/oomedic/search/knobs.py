"""Settings that make room where the defaults do not fit, from the smallest change to the largest."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from oomedic.engine.config import EngineConfig
from oomedic.gpu import Gpu
from oomedic.search.wish import Wish

Changes = Mapping[str, Any]

_SMALL_BATCH: Final = 2048
_FEW_REQUESTS: Final = 16
_LOWER: Final = 0.85
HIGHEST: Final = 0.95
"""The largest share of a card that is proposed; no release has a larger default."""


def ladder(config: EngineConfig, wish: Wish, gpu: Gpu) -> Iterator[Changes]:
    """Yield sets of settings to try after the defaults; what was given stands and is no knob.

    Args:
        config: with the defaults of this card.
        wish: what was given, and whether answers may change.
        gpu: an fp8 cache is tried only where the card computes in fp8.
    """
    small = _small(config, wish)
    steps: list[Changes] = [small, {"gpu_memory_utilization": _LOWER}, {**small, "gpu_memory_utilization": _LOWER}]
    steps += [{**small, "gpu_memory_utilization": HIGHEST}]
    steps += [{**small, "enforce_eager": True}, {**small, "enforce_eager": True, "gpu_memory_utilization": HIGHEST}]
    if wish.quantized and gpu.fp8:
        cache = {"kv_cache_dtype": "fp8"}
        steps += [cache, {**cache, **small}, {**cache, **small, "gpu_memory_utilization": HIGHEST}]
    tried: list[Changes] = [{}]
    for step in steps:
        changes = {name: value for name, value in step.items() if name not in wish.given.given}
        if changes not in tried:
            tried.append(changes)
            yield changes


def _small(config: EngineConfig, wish: Wish) -> dict[str, Any]:
    """Return smaller batches: less activation, fewer graphs, a smaller warm-up."""
    seqs = max(wish.concurrency, _FEW_REQUESTS)
    changes: dict[str, Any] = {}
    if config.integer("max_num_seqs") > seqs:
        changes["max_num_seqs"] = seqs
    if config.flag("enable_chunked_prefill") and config.integer("max_num_batched_tokens") > _SMALL_BATCH:
        changes["max_num_batched_tokens"] = max(_SMALL_BATCH, seqs)
    return changes
