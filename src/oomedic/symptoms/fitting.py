"""Do the weights fit on the card? Asked by several causes, answered once."""

from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence


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
