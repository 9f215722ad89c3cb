"""What the engine refuses before it touches the GPU: values out of range, limits that contradict each other.

Mirrors vllm/config (CacheConfig, SchedulerConfig, ModelConfig). Only what was given is judged: defaults agree.
"""

from typing import Final

from oomedic.engine.config import EngineConfig, ModelFacts
from oomedic.errors import UsageError

_POSITIVE: Final = (
    *("max_model_len", "max_num_seqs", "max_num_batched_tokens", "block_size"),
    *("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size"),
)


def refusal(config: EngineConfig, facts: ModelFacts, *, long_allowed: bool = False) -> UsageError | None:
    """Return the first refusal as an error, None when nothing stands against these values.

    Args:
        config: what was given, and the defaults.
        facts: the length that the model allows.
        long_allowed: VLLM_ALLOW_LONG_MAX_MODEL_LEN is set.
    """
    return _out_of_range(config) or _limits(config) or (None if long_allowed else _length(config, facts))


def _out_of_range(config: EngineConfig) -> UsageError | None:
    if config.is_given("gpu_memory_utilization") and not 0 < config.utilization <= 1:
        return UsageError("share-out-of-range", value=str(config.value("gpu_memory_utilization")))
    for name in _POSITIVE:
        value = config.value(name)
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        if config.is_given(name) and is_whole and value < 1:
            return UsageError("not-positive", argument=name, value=str(value))
    return None


def _limits(config: EngineConfig) -> UsageError | None:
    """Hold max_num_batched_tokens against what must fit into one batch."""
    tokens, seqs = config.integer("max_num_batched_tokens"), config.integer("max_num_seqs")
    if not config.is_given("max_num_batched_tokens") or tokens < 1:
        return None
    if tokens < seqs:
        return UsageError("batch-too-small", argument="max_num_seqs", value=seqs, max_num_batched_tokens=tokens)
    length = config.max_model_len or 0
    if tokens < length and not config.flag("enable_chunked_prefill"):
        return UsageError("batch-too-small", argument="max_model_len", value=length, max_num_batched_tokens=tokens)
    return None


def _length(config: EngineConfig, facts: ModelFacts) -> UsageError | None:
    length, derived = config.max_model_len, facts.max_model_len
    if not config.is_given("max_model_len") or length is None or derived is None or length <= derived:
        return None
    return UsageError("length-exceeds-model", max_model_len=length, derived=derived)
