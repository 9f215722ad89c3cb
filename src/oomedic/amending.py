"""From manifests to the same manifests with a change that lets their engines start."""

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from oomedic.arguments.table import ArgumentTable
from oomedic.claim import Claim, claim
from oomedic.errors import InputError, OomedicError, UsageError
from oomedic.gpu import Gpu
from oomedic.live_change import chosen
from oomedic.patches.changed import Changed
from oomedic.patches.patching import edited_files
from oomedic.pipeline import diagnose_crash
from oomedic.planning.plan import Offer
from oomedic.question import Library, Manifest, Question
from oomedic.result import Report, Result
from oomedic.workloads.workload import Workload

_OF_ITSELF: Final = frozenset({"safe", "trade-off"})
"""Changes that stand in for the plan's first one, where that cannot be written."""
_BY_HAND: Final = frozenset({"manual", "gpu"})

Files = Mapping[str, str]


class Amended(NamedTuple):
    """One engine: the offer that was put into the files, or why none was; what a person should know of it."""

    workload: Workload
    offer: Offer | None = None
    because: Claim | None = None
    remarks: tuple[Claim, ...] = ()


class Amendment(NamedTuple):
    """The change of the files, engine by engine, and the report that it comes from."""

    changed: Changed
    engines: tuple[Amended, ...]
    report: Report

    @property
    def complete(self) -> bool:
        """Tell whether each engine starts now, as far as is known."""
        return all(each.offer is not None or _is_well(each) for each in self.engines)


def amend(question: Question, library: Library) -> Amendment:
    """Change the manifests of a question so that their engines start; ``question.remedies`` are taken where named.

    Raises:
        OomedicError: as ``pipeline.diagnose_crash``.
        UsageError: ``remedy-not-offered``, or ``nothing-to-patch`` where no engine of vLLM is found.
        InputError: ``edit-refused``, or ``object-generated`` where another object makes the one that would change.
    """
    before = {manifest.path: manifest.text for manifest in question.manifests}
    report = diagnose_crash(question, library)
    after: Files = before
    engines: list[Amended] = []
    for result in report.results:
        fresh = result if after == before else _again(result, question, after, library)
        if fresh.workload is None:
            continue
        card = None if question.options.gpu else _smallest_card(fresh)
        if card is not None:
            on_card = question._replace(options=question.options._replace(gpu=card.name))
            fresh = _again(fresh, on_card, after, library)
        amended, after = _amended(fresh, after, question.remedies, library.catalogue.arguments)
        if card is not None and amended.offer is not None:
            amended = amended._replace(remarks=(claim("patch.for-card", gpu=card.name), *amended.remarks))
        engines.append(amended)
    if not engines:
        raise UsageError("nothing-to-patch", files=tuple(before))
    return Amendment(Changed(before, after), tuple(engines), report)


def _smallest_card(result: Result) -> Gpu | None:
    """Return the card with the least memory on which an engine would die, where nothing says which one it gets."""
    if result.plan is not None or result.subject.gpu is not None or result.placement is None:
        return None
    failing = (each.landing.gpu for each in result.placement.verdicts if each.fails)
    return min(failing, key=lambda gpu: gpu.memory.value, default=None)


def _again(result: Result, question: Question, files: Files, library: Library) -> Result:
    """Judge an engine anew, in files that hold the change of another one."""
    manifests = tuple(Manifest(path, text) for path, text in files.items())
    report = diagnose_crash(question._replace(manifests=manifests), library)
    return next((each for each in report.results if _origin(each) == _origin(result)), result)


def _origin(result: Result) -> tuple[object, ...]:
    """Say what an engine was read from: several files may hold objects of one name."""
    workload = result.workload
    return () if workload is None else (workload.unit, workload.file, workload.place)


def _amended(result: Result, files: Files, remedies: Sequence[str], table: ArgumentTable) -> tuple[Amended, Files]:
    workload = result.workload
    if workload is None:
        raise UsageError("nothing-to-patch", files=tuple(files))
    if not workload.supported:
        return Amended(workload, because=workload.because), files
    if result.plan is None:
        said = "patch.well" if result.outcome == "starts" else "patch.unknown"
        return Amended(workload, because=claim(said), remarks=result.budget_missing), files
    if workload.owner is not None:
        raise InputError("object-generated", unit=workload.unit, owner=workload.owner)
    offers = [chosen(result.plan, remedies)] if remedies else list(_own_offers(result))
    refusal: OomedicError | None = None
    for offer in offers:
        try:
            after = _written(offer, workload, files, table)
        except InputError as error:
            refusal = refusal or error
            continue
        if after != files:
            return Amended(workload, offer, None, tuple(_remarks(workload, offer))), after
    if refusal is not None:
        raise refusal
    steps = _steps(result)
    return Amended(workload, because=claim("patch.by-hand" if steps else "patch.no-help"), remarks=steps), files


def _own_offers(result: Result) -> Iterator[Offer]:
    """Yield the first offer, then those that may stand in for it unasked."""
    if result.plan is None or result.plan.best is None:
        return
    yield result.plan.best
    yield from (each for each in result.plan.alternatives if each.verified and each.safety in _OF_ITSELF)


def _written(offer: Offer, workload: Workload, files: Files, table: ArgumentTable) -> Files:
    """Return the files with an offer in them; as they were where only a person can make it.

    Raises:
        InputError: ``edit-refused``.
    """
    if offer.moves:
        made = {_beside(workload, each.path, files): each.after for each in offer.moves[0].files}
        return {**files, **made}
    if all(change.target in _BY_HAND for change in offer.changes):
        return files
    return edited_files(files, workload, offer.changes, table)


def _beside(workload: Workload, path: str, files: Files) -> str:
    """Put a file that is new where the engine's own is."""
    return path if path in files else posixpath.join(posixpath.dirname(workload.file), path)


def _remarks(workload: Workload, offer: Offer) -> Iterator[Claim]:
    for manager in workload.managed_by:
        yield claim("patch.kept-by", tool=manager.tool, name=manager.name, unit=workload.unit)
    places = {workload.edit_paths[each.target] for each in offer.changes if each.target in workload.edit_paths}
    if any(place.object.startswith("ConfigMap/") for place in places):
        yield claim("patch.restart", target=f"{workload.kind.lower()}/{workload.name}")
    if offer.moves:
        yield from offer.moves[0].remarks


def _steps(result: Result) -> tuple[Claim, ...]:
    """Return what only a person can do."""
    offers = (result.plan.best, *result.plan.alternatives) if result.plan else ()
    return tuple(offer.step for offer in offers if offer is not None and offer.step is not None)[:3]


def _is_well(engine: Amended) -> bool:
    return engine.because is not None and engine.because.message == "patch.well"
