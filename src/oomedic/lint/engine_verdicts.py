"""One engine on each card that its pod could get: what the engine, the GPU's memory and Kubernetes would refuse."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from oomedic.answer import result_of
from oomedic.arguments.given import EngineArgs
from oomedic.cause import Cause
from oomedic.evidence import Evidence, Subject
from oomedic.finding import Confidence, Diagnosis, Finding
from oomedic.foresight import hazards
from oomedic.gathering.gather import EngineOptions
from oomedic.lint.cards import Where
from oomedic.lint.verdict import Verdict
from oomedic.pipeline import Shelf, causes_for, diagnosed, remedies_of
from oomedic.planning.plan import Offer, Plan, best_offer
from oomedic.question import Library, Question
from oomedic.understanding import Life, evidence_of
from oomedic.workloads.reading import Reading
from oomedic.workloads.workload import Workload

_NO_GPU_TYPES: Final = "placement.no-gpu-types"
_OTHER_NODES: Final = "placement.label"
_ANSWERS: Final[Mapping[str, tuple[str, ...]]] = {
    "foreseen.beyond-the-card": ("FIX202", "FIX303"),
    "foreseen.host-memory-short": ("FIX402",),
    "foreseen.no-spare-gpu": ("FIX404",),
    "foreseen.spare-gpu-needed": ("FIX404",),
    "placement": ("FIX410",),
}
"""What helps against a reason that is known before anything ran: one of the remedies that a crash may call for."""


class Case(NamedTuple):
    """One engine on one card: the evidence, every finding, and the offer that helps against each."""

    evidence: Evidence
    findings: tuple[Finding, ...]
    offers: Mapping[str, Offer] = {}

    @property
    def starts(self) -> bool:
        """Tell whether the engine itself starts on this card, whatever Kubernetes does to its pod."""
        outcome = self.evidence.assessment.outcome if self.evidence.assessment else None
        return outcome == "starts" and not any(finding.code.startswith(("OOM", "CFG")) for finding in self.findings)


class EngineJudge:
    """Judges engines; two that differ in nothing but names are judged once."""

    def __init__(self, library: Library, command: EngineArgs) -> None:
        """Take the facts, and what the command line adds to every engine's arguments."""
        self._library = library
        self._command = command
        self._shelf = Shelf(library.catalogue)
        self._known: dict[str, tuple[Case, ...]] = {}

    def cases(self, reading: Reading, where: Where) -> tuple[Case, ...]:
        """Return an engine on each card that its pod may get.

        Raises:
            UnknownName: for a GPU that the user named.
        """
        key = _key(reading.workload, where)
        if key not in self._known:
            found = [self._case(reading.workload, options, where) for options in where.options]
            self._known[key] = self._with_offers(found)
        return self._known[key]

    def _case(self, workload: Workload, options: EngineOptions, where: Where) -> Case:
        question = Question(command=self._command, options=options)
        evidence = evidence_of(question, self._library, Life(workload=workload))
        found = diagnosed(evidence, self._causes, self._library.catalogue).findings
        codes = {finding.code for finding in found}
        nowhere = _nowhere(where)
        codes |= {finding.code for finding in nowhere}
        further = (each for each in hazards(evidence, where.room) if each.code not in codes)
        return Case(evidence, (*found, *nowhere, *further))

    def _with_offers(self, cases: Sequence[Case]) -> tuple[Case, ...]:
        """Add what helps: against each finding on the smallest card that shows it, which is the hardest."""
        hardest: dict[str, int] = {}
        for number in sorted(range(len(cases)), key=lambda number: -_memory(cases[number])):
            hardest |= {finding.code: number for finding in cases[number].findings}
        return tuple(
            case._replace(
                offers={
                    finding.code: offer
                    for finding in case.findings
                    if hardest[finding.code] == number and (offer := self._offer(case.evidence, finding)) is not None
                }
            )
            for number, case in enumerate(cases)
        )

    def _offer(self, evidence: Evidence, finding: Finding) -> Offer | None:
        cause = next((each for each in self._causes if each.code == finding.code), None)
        if cause is None:
            return None
        message = finding.because[0].message if finding.because else ""
        helps = _ANSWERS.get(message) or _ANSWERS.get(message.partition(".")[0]) or cause.helps
        remedies = remedies_of(helps, self._library.catalogue)
        return best_offer(evidence, finding, cause, remedies, self._shelf)

    @cached_property
    def _causes(self) -> tuple[Cause, ...]:
        """All causes: without a log each is asked."""
        return causes_for(Evidence(Subject()), self._library.catalogue)


def verdict_of(case: Case, workload: Workload) -> Verdict:
    """Return what a report shows of a case, for the engine at hand: cases are shared by engines that are alike."""
    evidence = case.evidence._replace(
        workload=workload,
        subject=case.evidence.subject._replace(
            unit=workload.unit,
            kind=workload.kind,
            namespace=workload.namespace,
            name=workload.name,
            container=workload.container,
        ),
    )
    first = case.findings[0] if case.findings else None
    best = case.offers.get(first.code) if first else None
    before = evidence.assessment.budget if evidence.assessment else None
    plan = Plan(best, (), (), before) if best else None
    result = result_of(evidence, Diagnosis(case.findings, logged=False), plan, None)
    return Verdict(result, tuple(case.offers.items()))


def _memory(case: Case) -> int:
    return case.evidence.gpu.memory.value if case.evidence.gpu else 0


def _nowhere(where: Where) -> tuple[Finding, ...]:
    """Return that no node pool takes the pod; pools without GPUs, or with other labels, may be meant for other pods."""
    reasons = tuple(each.because for each in where.closed if each.because.message != _NO_GPU_TYPES)
    if not reasons:
        return ()
    sure: Confidence = "possible" if all(each.message == _OTHER_NODES for each in reasons) else "likely"
    return (Finding("POD105", "unschedulable-no-gpu", sure, reasons, None, "other"),)


def _key(workload: Workload, where: Where) -> str:
    """Return all that decides about an engine: not what it is called, nor where it stands."""
    alike = workload._replace(
        unit="",
        namespace=None,
        name="",
        container="",
        edit_paths={},
        place=None,
        file="",
        managed_by=(),
        owner=None,
        notes=(),
    )
    return repr((alike, where))
