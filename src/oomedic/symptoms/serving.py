"""Memory that ran out while requests were served."""

from oomedic.evidence import Evidence
from oomedic.logs.memory_error import OutOfMemory
from oomedic.symptoms.exhaustion import Exhaustion, exhaustion


def exhaustion_while_serving(evidence: Evidence) -> Exhaustion | None:
    """Return the failed allocation of a running server, None when none failed or it failed during the start."""
    found = exhaustion(evidence)
    if found is None or found.phase == "runtime":
        return found
    if found.phase is None and outgrew_start(evidence, found.message):
        return found._replace(phase="runtime")
    return None


def outgrew_start(evidence: Evidence, message: OutOfMemory | None) -> bool:
    """Tell whether PyTorch held more than a start ever allocates although CUDA graphs were captured already.

    Once the KV cache is there, weights, cache and buffers are at most the request less the profiled peak; beyond the
    whole request only batches of real requests lead.
    """
    budget = evidence.assessment.budget if evidence.assessment else None
    requested = budget.requested if budget else None
    if message is None or message.allocated is None or message.graph_pool is None or requested is None:
        return False
    return message.allocated.low - message.graph_pool.high > requested.high
