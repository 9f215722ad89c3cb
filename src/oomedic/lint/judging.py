"""From manifests to findings with their places: the one sequence of ``oomedic lint``."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from oomedic.answer import versions_of
from oomedic.arguments.given import NOTHING_GIVEN, EngineArgs
from oomedic.claim import Claim, claim
from oomedic.errors import OomedicError
from oomedic.evidence import Evidence
from oomedic.finding import Confidence, Finding
from oomedic.gathering.gather import EngineOptions
from oomedic.lint.baseline import fingerprinted, known
from oomedic.lint.cards import Cards, check_names
from oomedic.lint.engine_verdicts import Case, EngineJudge, verdict_of
from oomedic.lint.ignores import ignores_in, silenced
from oomedic.lint.places import Places
from oomedic.lint.rewriting import Rewriter
from oomedic.lint.verdict import Judged, Linted, Place, Remark, Told
from oomedic.manifest import FileReading, read_files
from oomedic.pipeline import Shelf
from oomedic.placement.node_pool import node_pools_among
from oomedic.planning.plan import Offer
from oomedic.question import Library, Manifest
from oomedic.result import Report
from oomedic.slip import Slip
from oomedic.slips import load
from oomedic.workloads.reading import Reading

_TEMPLATE: Final = "helm-template"
_SURE: Final[tuple[Confidence, ...]] = ("certain", "likely", "possible")
_NO_CARD: Final = "budget.missing.gpu"


class LintQuestion(NamedTuple):
    """What is to be judged.

    Attributes:
        manifests: what was read.
        options: what the user says of the engines.
        command: arguments and variables that are added to every engine's own.
        named: paths that the user named one by one: what cannot be judged of them is an error, in folders a remark.
        unreadable: what could not even be read.
        baseline: fingerprints of findings that are known already.
        rewrites: whether the changes that help are wanted as replacements in the files too.
    """

    manifests: tuple[Manifest, ...]
    options: EngineOptions = EngineOptions()
    command: EngineArgs = NOTHING_GIVEN
    named: frozenset[str] = frozenset()
    unreadable: tuple[OomedicError, ...] = ()
    baseline: frozenset[str] = frozenset()
    rewrites: bool = False


def lint(question: LintQuestion, library: Library) -> Linted:
    """Judge every engine of some manifests.

    Raises:
        UnknownName: for a GPU that the user named.
    """
    check_names(question.options, library.catalogue)
    files = {manifest.path: manifest.text for manifest in question.manifests}
    readings = tuple(read_files(files, library.catalogue.arguments))
    judged = tuple(_judged(readings, question, library, files))
    told = silenced(_in_order(judged), [each for path, text in files.items() for each in ignores_in(text, path)])
    told = known(fingerprinted(told), question.baseline)
    skipped = tuple(file.error for file in readings if file.error is not None and _is_skipped(file, question))
    broken = tuple(file.error for file in readings if file.error is not None and not _is_skipped(file, question))
    found = {each.fingerprint for each in told}
    return Linted(
        judged=judged,
        told=told,
        report=_report(judged, library),
        remarks=tuple(_remarks(judged)),
        skipped=skipped,
        unreadable=(*question.unreadable, *broken),
        files=len(readings) - len(skipped) - len(broken),
        left=len(question.baseline - found),
    )


def _is_skipped(file: FileReading, question: LintQuestion) -> bool:
    """Tell whether a file is passed over: a template of Helm that nobody named."""
    return file.error is not None and file.error.slug == _TEMPLATE and file.path not in question.named


def _judged(
    readings: Sequence[FileReading], question: LintQuestion, library: Library, files: Mapping[str, str]
) -> Iterator[Judged]:
    pools = node_pools_among(found for file in readings for found in file.objects)
    cards = Cards(question.options, pools, Shelf(library.catalogue).instances())
    judge, places = EngineJudge(library, question.command), Places()
    rewriter = Rewriter(files, library.catalogue.arguments, places) if question.rewrites else None
    teller = Teller(places, rewriter, _slips(library))
    for file in readings:
        for reading in file.engines:
            if not reading.workload.supported:
                yield Judged(reading, ())
                continue
            cases = judge.cases(reading, cards.of(reading.workload))
            verdicts = tuple(verdict_of(case, reading.workload) for case in cases)
            yield Judged(reading, verdicts, teller.told(reading, cases))


def _slips(library: Library) -> tuple[Slip, ...]:
    pages = map(library.catalogue.page, library.catalogue.codes())
    return load([page["module"] for page in pages if page["kind"] == "slip"])


class _Seen(NamedTuple):
    """One finding on one card."""

    finding: Finding
    case: Case
    offer: Offer | None
    place: Place


class Teller:
    """Tells findings with their places, each once, whatever the number of cards."""

    def __init__(self, places: Places, rewriter: Rewriter | None, slips: Sequence[Slip]) -> None:
        """Take what finds places, what writes changes down, and the kinds of slips."""
        self._places = places
        self._rewriter = rewriter
        self._slips = slips

    def told(self, reading: Reading, cases: Sequence[Case]) -> tuple[Told, ...]:
        """Return the findings of one engine on all of its cards, then its slips."""
        offers = {code: offer for case in cases for code, offer in case.offers.items()}
        groups: dict[tuple[str, str, Place], list[_Seen]] = {}
        for case in cases:
            for finding in case.findings:
                offer = offers.get(finding.code)
                place = self._places.of_finding(finding, reading, offer)
                message = finding.because[0].message if finding.because else ""
                key = (finding.code, message, place)
                groups.setdefault(key, []).append(_Seen(finding, case, offer, place))
        fits = tuple(case.evidence.gpu.name for case in cases if case.evidence.gpu and case.starts)
        findings = tuple(self._group(seen, reading, len(cases), fits) for seen in groups.values())
        refused = {str(said) for case in cases for finding in case.findings for said in finding.because}
        return (*findings, *self._of_slips(reading, cases[0].evidence, refused))

    def _group(self, seen: Sequence[_Seen], reading: Reading, possible: int, fits: tuple[str, ...]) -> Told:
        hardest = next((each for each in seen if each.finding.code in each.case.offers), seen[0])
        finding, offer = hardest.finding, hardest.offer
        of_memory = finding.code.startswith("OOM")
        gpus = _names(seen) if of_memory or len(seen) < possible else ()
        return Told(
            finding.code,
            finding.name,
            min((each.finding.confidence for each in seen), key=_SURE.index),
            finding.because,
            hardest.place,
            reading.workload.unit,
            gpus,
            possible,
            fits if gpus and possible > 1 else (),
            offer,
            self._rewriter.replacements(offer, reading) if offer and self._rewriter else (),
        )

    def _of_slips(self, reading: Reading, evidence: Evidence, said: set[str]) -> Iterator[Told]:
        for slip in self._slips:
            for sighting in slip.find(reading, evidence):
                if str(sighting.said) not in said:  # the engine refuses it, which is told already
                    place = self._places.of_sighting(sighting, reading)
                    if place is None:
                        continue
                    yield Told(slip.code, slip.name, "possible", (sighting.said,), place, reading.workload.unit)


def _names(seen: Sequence[_Seen]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.case.evidence.gpu.name for each in seen if each.case.evidence.gpu))


def _in_order(judged: Iterable[Judged]) -> list[Told]:
    """Return all findings, file by file, from the first line to the last."""
    found: dict[str, list[Told]] = {}
    for engine in judged:
        for each in engine.told:
            found.setdefault(engine.path, []).append(each)
    return [each for told in found.values() for each in sorted(told, key=_position)]


def _position(told: Told) -> tuple[str, int, int, int]:
    return told.place.path, told.place.line, told.place.column, _SURE.index(told.confidence)


def _report(judged: Sequence[Judged], library: Library) -> Report:
    """Return the results as every command shows them, those first that do not start."""
    results = [verdict.result for engine in judged for verdict in engine.verdicts]
    results.sort(key=lambda result: result.outcome != "crashes")
    return Report(tuple(results), versions_of(library))


def _remarks(judged: Iterable[Judged]) -> Iterator[Remark]:
    """Yield what was not judged, each reason once with the engines that it concerns."""
    found: dict[str, tuple[Claim, list[str]]] = {}
    for engine in judged:
        for said in _unjudged(engine):
            key = said.message if said.message == "lint.no-card" else f"{said.message} {said.parameters}"
            found.setdefault(key, (said, []))[1].append(engine.reading.workload.unit)
    for said, units in found.values():
        yield Remark(said, tuple(units))


def _unjudged(engine: Judged) -> Iterator[Claim]:
    workload = engine.reading.workload
    if workload.because is not None:
        yield workload.because
    missing = dict.fromkeys(str(said) for verdict in engine.verdicts for said in verdict.result.budget_missing)
    for verdict in engine.verdicts:
        for said in verdict.result.budget_missing:
            if said.message.startswith("error.") and engine.told:
                continue  # what refuses it is a finding
            if missing.pop(str(said), "") is None:
                yield claim("lint.no-card") if said.message == _NO_CARD else said
