"""The arguments of a run as its own log tells them: printed whole, or stated in passing by an error."""

from collections.abc import Sequence
from typing import Final

from oomedic.arguments.reader import (
    EngineArgs,
    Given,
    merge,
    read_arguments_repr,
    read_config_repr,
    read_namespace_repr,
)
from oomedic.figure import Figure
from oomedic.logs.fields import text
from oomedic.logs.signatures import Event

_STATED: Final = (
    ("kv_cache_too_small", "max_model_len", "max_model_len"),
    ("kv_cache_too_small_v0", "max_model_len", "max_model_len"),
    ("max_concurrency", "max_model_len", "max_model_len"),
    ("free_memory_below_request", "gpu_memory_utilization", "gpu_memory_utilization"),
    ("v0_memory_requested", "gpu_memory_utilization", "gpu_memory_utilization"),
    ("memory_account", "gpu_memory_utilization", "gpu_memory_utilization"),
    ("warm_up_out_of_memory", "requests", "max_num_seqs"),
    ("mamba_blocks_too_few", "max_num_seqs", "max_num_seqs"),
    ("chunked_prefill", "max_num_batched_tokens", "max_num_batched_tokens"),
    ("cpu_kv_space", "kv_cache", "kv_cache_memory_bytes"),
)


def printed_arguments(events: Sequence[Event]) -> EngineArgs:
    """Read the arguments that the engine printed about itself; its final configuration says most."""
    found = _implied_arguments(events)
    readers = (
        ("server_args", "namespace", read_namespace_repr),
        ("non_default_args", "arguments", read_arguments_repr),
        ("engine_start", "config", read_config_repr),
    )
    for signature, field, read in readers:
        event = next((each for each in events if each.signature == signature and text(each, field)), None)
        if event is not None:
            found = merge(found, read(text(event, field) or "", f"log:{event.line}"))
    return found


def _implied_arguments(events: Sequence[Event]) -> EngineArgs:
    """Read the settings that error messages state in passing."""
    implied: dict[str, Given] = {}
    for event in events:
        for signature, field, name in _STATED:
            value = event.fields.get(field)
            value = value.value if isinstance(value, Figure) else value
            if event.signature == signature and isinstance(value, int | float) and name not in implied:
                implied[name] = Given(value, f"log:{event.line}")
    return EngineArgs(implied)
