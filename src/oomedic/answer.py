"""From evidence, diagnosis and plan to the result that a report shows."""

from typing import Final

from oomedic.claim import Claim, claim
from oomedic.diagnosis import crashed, started
from oomedic.evidence import Evidence
from oomedic.finding import Diagnosis
from oomedic.memory.assessment import Outcome
from oomedic.planning.plan import Plan
from oomedic.question import Library
from oomedic.result import OutcomeOrigin, Patch, Result, Versions
from oomedic.symptoms.notes import notes

SCHEMA: Final = "oomedic/v1"
_REFUSED_BY_THE_ENGINE: Final = frozenset(
    (
        *("not-divisible", "too-many-stages", "pages-do-not-unify"),
        *("share-out-of-range", "not-positive", "batch-too-small", "length-exceeds-model"),
    )
)
"""Errors of the arithmetic at which the engine itself would refuse to start."""


def result_of(evidence: Evidence, diagnosis: Diagnosis | None, plan: Plan | None, patch: Patch | None) -> Result:
    """Return the result of one subject."""
    outcome, origin, phase = _outcome(evidence, diagnosis)
    return Result(
        subject=evidence.subject,
        outcome=outcome,
        outcome_origin=origin,
        phase=phase,
        assessment=evidence.assessment if _computable(evidence) else None,
        budget_missing=_budget_missing(evidence),
        notes=(*evidence.remarks, *notes(evidence), *_remarks(evidence)),
        diagnosis=diagnosis,
        plan=plan,
        workload=evidence.workload,
        patch=patch,
        arguments=evidence.arguments.given,
        versions=evidence.versions,
    )


def _outcome(evidence: Evidence, diagnosis: Diagnosis | None) -> tuple[Outcome, OutcomeOrigin, str | None]:
    """Return what the log shows, else what our arithmetic says."""
    if diagnosis is not None and diagnosis.findings and evidence.events:
        first = diagnosis.findings[0]
        return "crashes", "printed", first.phase or evidence.phase_reached()
    if crashed(evidence.events):
        return "crashes", "printed", evidence.phase_reached()
    if started(evidence.events):
        return "starts", "printed", None
    logged = any(event.source is None for event in evidence.events)
    if not logged and evidence.refused is not None and evidence.refused.slug in _REFUSED_BY_THE_ENGINE:
        return "crashes", "computed", "config_validation"
    return _computed(evidence, diagnosis, logged=logged)


def _computed(
    evidence: Evidence, diagnosis: Diagnosis | None, *, logged: bool
) -> tuple[Outcome, OutcomeOrigin, str | None]:
    """Return what is foreseen: by the engine's own rules, else by the arithmetic."""
    foreseen = diagnosis.findings[0] if diagnosis is not None and diagnosis.findings else None
    if foreseen is not None and foreseen.confidence != "possible":
        return "crashes", "computed", foreseen.phase
    if logged or evidence.assessment is None:
        return "unknown", "computed", None
    return evidence.assessment.outcome, "computed", evidence.assessment.phase


def _remarks(evidence: Evidence) -> tuple[Claim, ...]:
    """Tell what was seen beside the log: how the container lives and ends, how full the cards are."""
    if evidence.observed is None:
        return ()
    from oomedic.observed.remarks import remarks  # only where something was seen

    return remarks(evidence.observed, evidence.container)


def _computable(evidence: Evidence) -> bool:
    budget = evidence.assessment.budget if evidence.assessment else None
    return budget is not None and (budget.total is not None or any(item.figure for item in budget.items if item.figure))


def _budget_missing(evidence: Evidence) -> tuple[Claim, ...]:
    if evidence.refused is not None:
        return (Claim(f"error.{evidence.refused.slug}.says", evidence.refused.parameters),)
    missing = evidence.assessment.missing if evidence.assessment else ()
    if evidence.setting("device") == "cpu":
        return (claim("budget.missing.cpu"),)
    return tuple(claim(f"budget.missing.{name}") for name in missing)


def versions_of(library: Library) -> Versions:
    """Return which JSON, which program and which facts made a report."""
    return Versions(SCHEMA, library.tool, library.catalogue.version)
