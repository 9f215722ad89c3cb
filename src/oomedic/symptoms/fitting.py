"""Do the weights fit on the card? Asked by several causes, answered once."""

import re
from typing import Final

from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence

_ONE_OF_SEVERAL: Final = re.compile(r"_[TP]P\d|VllmWorker|RayWorkerWrapper")


def weights_exceed(evidence: Evidence) -> bool | None:
    """Tell whether the weights of one rank are larger than the card; None when either is not known."""
    budget = evidence.assessment.budget if evidence.assessment else None
    weights = budget.item("weights") if budget else None
    free = (budget.free_at_start or budget.total) if budget else None
    if weights is None or free is None:
        return None
    if weights.low > free.value:
        return True
    return False if weights.high < free.low else None


def hides_ranks(evidence: Evidence) -> bool:
    """Tell whether the log shows several ranks although nothing tells over how many the weights are spread."""
    if evidence.config is None or evidence.config.ranks > 1:
        return False
    return any(event.rank is not None and _ONE_OF_SEVERAL.search(event.rank) for event in evidence.events)


def weights_claims(evidence: Evidence, message: str) -> tuple[Claim, ...]:
    """State the computed size of the weights beside the card's memory, where both are known."""
    budget = evidence.assessment.budget if evidence.assessment else None
    weights, total = (budget.item("weights"), budget.total) if budget else (None, None)
    if weights is None or total is None or evidence.checkpoint is None:
        return ()
    model = evidence.checkpoint.id
    return (claim(message, weights.where, model=model, weights=weights.value, total=total.value),)


def all_weights(evidence: Evidence) -> int | None:
    """Return the bytes of the weights over all ranks, None when they are not known."""
    weights = evidence.assessment.budget.item("weights") if evidence.assessment else None
    if weights is None or evidence.config is None:
        return None
    return weights.value * evidence.config.ranks


def element_bytes(evidence: Evidence) -> int | None:
    """Return the bytes of one unquantised weight, None when the model is not known."""
    if evidence.checkpoint is None or evidence.config is None:
        return None
    return evidence.checkpoint.element_bytes(evidence.config.value("dtype"))
