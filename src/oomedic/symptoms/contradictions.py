"""Where what was said and what was printed cannot both be true: told beside the finding, never smoothed over."""

from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.gathering.versions import printed_version
from oomedic.models.hf_config import dtype_of
from oomedic.symptoms.fitting import hides_ranks
from oomedic.version import parse_version

_SHOWN = 3


def contradictions(evidence: Evidence) -> tuple[Claim, ...]:
    """Return what does not agree: card, model, version."""
    return (*_model(evidence), *_card(evidence), *_weights(evidence), *_version(evidence))


def _model(evidence: Evidence) -> tuple[Claim, ...]:
    checkpoint, requested = evidence.checkpoint, evidence.requested_model
    if checkpoint is not None and checkpoint.where == "name":
        base = ", ".join(evidence.nearest_models)
        return (claim("evidence.model-stored", "catalogue", requested=checkpoint.id, base=base),)
    if checkpoint is None or requested is None or checkpoint.id.lower() == requested.lower():
        return ()
    if checkpoint.where != "catalogue":
        return ()
    return (claim("evidence.model-nearest", "catalogue", requested=requested, used=checkpoint.id),)


def _card(evidence: Evidence) -> tuple[Claim, ...]:
    total, gpu = evidence.known.total, evidence.gpu
    if gpu is None or total is None or not evidence.cards or any(card.name == gpu.name for card in evidence.cards):
        return ()
    names = ", ".join(card.name for card in evidence.cards[:_SHOWN])
    band = {"low": gpu.memory.low, "high": gpu.memory.high}
    return (claim("evidence.other-gpu", total.where, total=total.value, named=gpu.name, cards=names, **band),)


def _weights(evidence: Evidence) -> tuple[Claim, ...]:
    """Say that what was loaded cannot be the checkpoint as we know it: the engine got past its weights."""
    checkpoint, weights = evidence.checkpoint, evidence.expected_weights
    total = evidence.assessment.budget.total if evidence.assessment else None
    if checkpoint is None or weights is None or total is None:
        return ()
    if hides_ranks(evidence):
        return (claim("evidence.ranks-unknown", weights.where, model=checkpoint.id),)
    sizes = {"weights": weights.value, "total": total.value}
    dtype = dtype_of(checkpoint.config)
    return (claim("evidence.other-weights", weights.where, model=checkpoint.id, dtype=dtype, **sizes),)


def _version(evidence: Evidence) -> tuple[Claim, ...]:
    name = printed_version(evidence.events)
    printed = parse_version(name) if name else None
    if evidence.config is None or printed is None or printed == evidence.config.rules.version:
        return ()
    return (claim("evidence.other-version", "log", printed=name, used=str(evidence.config.rules.version)),)
