"""Which decoder layers see a sliding window: the pattern as each model family writes it."""

from typing import Any

from oomedic.models.hf_config import Config, first, layer_count, number

_ALTERNATING = {"gemma2": 2, "gemma3_text": 6, "gemma3": 6, "cohere2": 4}
"""Model types whose every n-th layer is full, as vLLM and transformers knew before configs listed layer_types."""
_OPT_IN = {"qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "qwen2_vl", "qwen2_5_vl"}
"""Model types that name a window and use it only if ``use_sliding_window`` says so."""


def windows(config: Config) -> tuple[int | None, ...]:
    """Return for each decoder layer its window in tokens, None where it attends to everything."""
    count = layer_count(config)
    window = number(config, "sliding_window", "sliding_window_size", "attention_window_size", default=0)
    if not window or not _is_used(config):
        return (None,) * count
    types = config.get("layer_types")
    if isinstance(types, list | tuple) and len(types) >= count:
        return tuple(window if "sliding" in str(kind) else None for kind in types[:count])
    period = _period(config)
    if period is not None:
        return tuple(None if (index + 1) % period == 0 else window for index in range(count))
    return (window,) * count


def _is_used(config: Config) -> bool:
    kind = str(config.get("model_type"))
    if kind in _OPT_IN or "use_sliding_window" in config:
        return bool(config.get("use_sliding_window"))
    return True


def _period(config: Config) -> int | None:
    pattern: Any = first(config, "sliding_window_pattern", "_sliding_window_pattern")
    if isinstance(pattern, int):
        return pattern
    if isinstance(pattern, str):
        return len(pattern)  # "LLLG": the last letter is the full layer
    return _ALTERNATING.get(str(config.get("model_type")))
