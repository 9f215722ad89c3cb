"""Findings that our arithmetic alone makes: where no log tells, the step in which a configuration would die."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Confidence, Finding
from oomedic.memory.assessment import Assessment
from oomedic.memory.known import Check


def forecast(
    evidence: Evidence,
    name: tuple[str, str],
    message: str,
    phase: str,
    *,
    facts: Sequence[str],
    what: str | None = None,
    peak: Sequence[str] = (),
) -> Finding | None:
    """Return the finding of a cause for a configuration that has not run, None where it would not die of it.

    Args:
        evidence: of a configuration without a log.
        name: the cause's code and name.
        message: says what would happen.
        phase: in which step.
        facts: the parameters of the text, of ``_FACTS``.
        what: what that step would lack room for, where a phase has several checks.
        peak: the parts of the activation of which one is the largest, where that decides.
    """
    assessment = evidence.assessment
    if evidence.events or assessment is None or assessment.failed is None:
        return None
    failed = assessment.failed
    if failed.phase != phase or (what and failed.what != what) or (peak and assessment.peak not in peak):
        return None
    values = {fact: _FACTS[fact](evidence, failed) for fact in facts}
    return Finding(*name, confidence_of(assessment), (claim(message, **values),), None, phase)


def confidence_of(assessment: Assessment) -> Confidence:
    """Return how sure a finding is that rests on the arithmetic alone: certain is only what a printed line proves."""
    return "possible" if assessment.certainty == "edge" else "likely"


def _missing(_evidence: Evidence, failed: Check) -> int:
    return max(1, -failed.margin.value)


def _setting(name: str) -> Callable[[Evidence, Check], Any]:
    return lambda evidence, _failed: evidence.setting(name)


def _needed(evidence: Evidence, _failed: Check) -> int | None:
    kv = evidence.assessment.kv if evidence.assessment else None
    return kv.needed if kv else None


def _blocks(evidence: Evidence, _failed: Check) -> int | None:
    kv = evidence.assessment.kv if evidence.assessment else None
    return kv.blocks if kv else None


def _of_budget(name: str) -> Callable[[Evidence, Check], int | None]:
    def read(evidence: Evidence, _failed: Check) -> int | None:
        figure = getattr(evidence.assessment.budget, name) if evidence.assessment else None
        return None if figure is None else int(figure.value)

    return read


_FACTS: Final[Mapping[str, Callable[[Evidence, Check], Any]]] = {
    "missing": _missing,
    "needed": _needed,
    "blocks": _blocks,
    "available": _of_budget("available"),
    "requested": _of_budget("requested"),
    "free": _of_budget("free_at_start"),
    "utilization": _setting("gpu_memory_utilization"),
    "max_model_len": _setting("max_model_len"),
    "max_num_seqs": _setting("max_num_seqs"),
}
