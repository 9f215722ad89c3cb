"""A driver without memory for the first thing that an engine does: opening the device."""

from oomedic.evidence import Evidence
from oomedic.logs.phases import frames_of
from oomedic.logs.signatures import Event
from oomedic.symptoms.exhaustion import exhaustion

_OPENING = frozenset({"nccl_init", "free_memory_check"})


def opening_failed(evidence: Evidence) -> Event | None:
    """Return the driver's error, None when the device was opened or nothing shows that it was not."""
    found = exhaustion(evidence)
    if found is None or found.event.signature != "cuda_driver_out_of_memory" or evidence.first("model_loaded"):
        return None
    opening = any(frame.signature == "device_frame" for frame in frames_of(found.event, evidence.events))
    return found.event if opening or found.phase in _OPENING else None
