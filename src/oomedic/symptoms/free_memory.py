"""The check at the start: how much of the card was free, and what that says about its neighbours."""

from oomedic.evidence import Evidence
from oomedic.figure import Figure, exactly
from oomedic.logs.fields import size
from oomedic.logs.signatures import Event
from oomedic.units import GIB

_CONTEXT = 6 * GIB // 10
"""What an idle card lacks once the engine has its CUDA context: 0.17 to 0.6 GiB."""


def held_at_start(event: Event | None) -> Figure | None:
    """Return what others hold according to the failed check: all that is not free, less the engine's own context."""
    free, total = size(event, "free"), size(event, "total")
    if free is None or total is None:
        return None
    used = total.minus(free)
    own = exactly(min(_CONTEXT, max(0, used.value)), "assumed", "CUDA context")
    return used.minus(own)


def is_unified(evidence: Evidence) -> bool:
    """Tell whether host and GPU share one memory on this card."""
    return evidence.gpu is not None and evidence.gpu.unified_memory


def is_shared_on_purpose(evidence: Evidence) -> bool:
    """Tell whether the manifest asks for a part of a card, or the node hands out each card several times."""
    resource = evidence.workload.gpu_resource if evidence.workload else None
    return (resource is not None and resource != "nvidia.com/gpu") or evidence.first("gpu_shared") is not None
