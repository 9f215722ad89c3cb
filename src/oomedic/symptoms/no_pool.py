"""A printed rest for the KV cache that is none."""

from typing import Final

from oomedic.evidence import Evidence
from oomedic.logs.fields import size
from oomedic.logs.signatures import Event

POOLS: Final = ("available_kv_cache", "v0_memory_profile")


def no_rest(evidence: Evidence) -> Event | None:
    """Return the last words of a log that stops where nothing is left: the refusal itself may be cut off."""
    if evidence.first("kv_cache_size", "engine_ready", "server_ready") is not None:
        return None
    rests = ((event, size(event, "kv_cache")) for event in evidence.all(*POOLS))
    return next((event for event, rest in rests if rest is not None and rest.high <= 0), None)
