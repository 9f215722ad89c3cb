"""The phases of a start, in order."""

from typing import Final

ORDER: Final = (
    "config_validation",
    "nccl_init",
    "free_memory_check",
    "weights_load",
    "profile_run",
    "kv_check",
    "kv_alloc",
    "graph_capture",
    "sampler_warmup",
    "runtime",
)
"""host_oom and other stand beside it."""
