"""The one sequence: text to events, events to evidence, evidence to diagnosis, diagnosis to plan, plan to patch.

Everything here is plain functions over values; what must be read from the world comes through the protocols below.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, Protocol

from oomedic import causes as cause_files
from oomedic import remedies as remedy_files
from oomedic.assessment import Outcome
from oomedic.catalogue import Catalogue
from oomedic.cause import Cause
from oomedic.checkpoint import Checkpoint
from oomedic.claim import Claim, claim
from oomedic.diagnosis import crashed, diagnose, relevant, started
from oomedic.errors import UnknownName
from oomedic.evidence import Evidence, Subject
from oomedic.finding import Diagnosis, Finding
from oomedic.gathering import EngineOptions, Sources, gather, given_arguments, model_name
from oomedic.given import NOTHING_GIVEN, EngineArgs
from oomedic.instance import Instance, instances_of
from oomedic.known_models import Resolved, checkpoint_of, resolve
from oomedic.lives import split_lives
from oomedic.patching import manifest_patch
from oomedic.planning.plan import Plan, make_plan
from oomedic.result import OutcomeOrigin, Patch, Report, Result, Versions
from oomedic.signatures import Event, Signatures
from oomedic.workload import Workload

SCHEMA: Final = "oomedic/v1"


class Hub(Protocol):
    """Where the config of a model comes from that no catalogue knows."""

    def checkpoint(self, model: str, /) -> Checkpoint | None:
        """Return the model, None when it cannot be had: no network, not found, no access."""


class Log(NamedTuple):
    """One log as it came: its name, and its bytes in pieces of any size."""

    name: str
    chunks: Iterable[bytes]


class Manifest(NamedTuple):
    """One manifest file: its path and its text."""

    path: str
    text: str


class Question(NamedTuple):
    """What is asked: logs, manifests, a command line, options, and a model whose config the user gave."""

    logs: tuple[Log, ...] = ()
    manifests: tuple[Manifest, ...] = ()
    command: EngineArgs = NOTHING_GIVEN
    options: EngineOptions = EngineOptions()
    checkpoint: Checkpoint | None = None


class Library(NamedTuple):
    """The facts, and what can be had beyond them."""

    catalogue: Catalogue
    tool: str
    hub: Hub | None = None


def diagnose_crash(question: Question, library: Library) -> Report:
    """Diagnose every life of every log; manifests alone are judged as they stand.

    Raises:
        OomedicError: when an input cannot be read or a name is not known.
    """
    workloads = tuple(_workloads(question.manifests, library.catalogue))
    lives = list(_lives(question.logs, library.catalogue))
    if not lives and question.logs:
        lives = [(None, ())]
    if not lives:
        results = [_judge(question, library, (), None, workload) for workload in workloads or (None,)]
    else:
        results = [
            _judge(question, library, events, number, _workload_of(events, workloads)) for number, events in lives
        ]
    return _report(results, library)


def compute_budget(question: Question, library: Library, gpus: Sequence[str], versions: Sequence[str]) -> Report:
    """Compute the budget for each GPU and release asked for.

    Raises:
        OomedicError: when a name is not known or the model cannot be had.
    """
    results = []
    for gpu in gpus or (None,):
        for version in versions or (None,):
            options = question.options._replace(gpu=gpu, vllm=version)
            evidence = _evidence(question._replace(options=options), library, (), Subject(), None)
            if evidence.checkpoint is None and evidence.requested_model is not None:
                raise UnknownName("model-unknown", name=evidence.requested_model, nearest=evidence.nearest_models)
            results.append(_result(evidence, None, None, None))
    return Report(tuple(results), _versions(library))


def inspect_manifests(manifests: Sequence[Manifest], library: Library) -> Report:
    """Tell what was understood of each engine in some manifests.

    Raises:
        InputError: when a manifest cannot be read.
    """
    return Report(tuple(map(_inspected, _workloads(manifests, library.catalogue))), _versions(library))


def _inspected(workload: Workload) -> Result:
    subject = Subject(workload.unit, workload.kind, workload.namespace, workload.name, workload.container)
    return Result(subject, "unknown", "computed", None, workload=workload, arguments=workload.arguments.given)


def _workloads(manifests: Sequence[Manifest], catalogue: Catalogue) -> Iterator[Workload]:
    if not manifests:
        return
    from oomedic.manifest import read_workloads  # YAML is loaded only where a manifest is given

    for manifest in manifests:
        yield from read_workloads(manifest.text, manifest.path, catalogue.arguments)


def _lives(logs: Iterable[Log], catalogue: Catalogue) -> Iterator[tuple[int | None, tuple[Event, ...]]]:
    signatures = Signatures(catalogue.signatures())
    for log in logs:
        lives = split_lives(tuple(signatures.read(log.chunks)))
        for number, life in enumerate(lives, start=1):
            yield (number if len(lives) > 1 else None), life


def _workload_of(events: Sequence[Event], workloads: tuple[Workload, ...]) -> Workload | None:
    """Return the workload that a log belongs to: the one with the model that it names, else the first engine."""
    supported = [workload for workload in workloads if workload.supported] or list(workloads)
    sources = Sources(Subject(), tuple(events), NOTHING_GIVEN, None, None, EngineOptions())
    named = model_name(given_arguments(sources))
    same = [workload for workload in supported if named and named in {workload.model, workload.served_name}]
    return next(iter(same or supported), None)


def _judge(
    question: Question, library: Library, events: tuple[Event, ...], life: int | None, workload: Workload | None
) -> Result:
    evidence = _evidence(question, library, events, Subject(life=life), workload)
    known = _causes(evidence, library.catalogue)
    diagnosis = diagnose(evidence, known)
    plan, patch = None, None
    if diagnosis.findings:
        first = diagnosis.findings[0]
        plan = _plan(evidence, first, known, library.catalogue)
        patch = _patch(plan, question.manifests, workload)
    return _result(evidence, diagnosis, plan, patch)


def _evidence(
    question: Question, library: Library, events: tuple[Event, ...], subject: Subject, workload: Workload | None
) -> Evidence:
    sources = Sources(subject, events, question.command, workload, None, question.options)
    return gather(sources._replace(model=_model(question, sources, library)), library.catalogue)


def _model(question: Question, sources: Sources, library: Library) -> Resolved | None:
    """Find the model: given as a config, catalogued, or on the hub; the nearest known one where nothing else is."""
    name = model_name(given_arguments(sources))
    if question.checkpoint is not None:
        return Resolved(name or question.checkpoint.id, question.checkpoint, "exact")
    if name is None:
        return None
    found = resolve(name, library.catalogue)
    if found.how in {"exact", "behind"} or library.hub is None:
        return found
    fetched = library.hub.checkpoint(name)
    return found if fetched is None else Resolved(name, fetched, "exact")


def _causes(evidence: Evidence, catalogue: Catalogue) -> tuple[Cause, ...]:
    pages = (catalogue.page(code) for code in catalogue.codes())
    known = [(page["module"], tuple(page["arguments"]["reads"])) for page in pages if page["kind"] == "cause"]
    return cause_files.load(relevant(known, evidence.events))


def _plan(evidence: Evidence, finding: Finding, known: Iterable[Cause], catalogue: Catalogue) -> Plan:
    cause = next(each for each in known if each.code == finding.code)
    modules = {page["code"]: page["module"] for page in map(catalogue.page, catalogue.codes())}
    wanted = [modules[code] for code in cause.helps if code in modules]
    return make_plan(evidence, finding, cause, remedy_files.load(wanted), _Shelf(catalogue))


def _patch(plan: Plan, manifests: tuple[Manifest, ...], workload: Workload | None) -> Patch | None:
    if plan.best is None or workload is None or plan.best.safety == "manual":
        return None
    texts = {manifest.path: manifest.text for manifest in manifests}
    return manifest_patch(texts, workload, plan.best.changes)


class _Shelf:
    """What remedies may look up, from the catalogue."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def variants_of(self, checkpoint: Checkpoint) -> tuple[Checkpoint, ...]:
        """Return the quantised checkpoints of the same weights, the largest first: it changes answers least."""
        variants = [checkpoint_of(model) for model in self._catalogue.variants(checkpoint.id)]
        smaller = [each for each in variants if each.estimate and each.id != checkpoint.id]
        return tuple(sorted(smaller, key=lambda each: -(each.estimate or 0)))

    def instances(self) -> tuple[Instance, ...]:
        """Return the instance types that have whole cards for CUDA."""
        return instances_of(self._catalogue.instances(), self._catalogue.gpu)


def _result(evidence: Evidence, diagnosis: Diagnosis | None, plan: Plan | None, patch: Patch | None) -> Result:
    outcome, origin, phase = _outcome(evidence, diagnosis)
    return Result(
        subject=evidence.subject,
        outcome=outcome,
        outcome_origin=origin,
        phase=phase,
        assessment=evidence.assessment if _computable(evidence) else None,
        budget_missing=_budget_missing(evidence),
        notes=(),
        diagnosis=diagnosis,
        plan=plan,
        workload=evidence.workload,
        patch=patch,
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
    if evidence.events or evidence.assessment is None:
        return "unknown", "computed", None
    return evidence.assessment.outcome, "computed", evidence.assessment.phase


def _computable(evidence: Evidence) -> bool:
    budget = evidence.assessment.budget if evidence.assessment else None
    return budget is not None and (budget.total is not None or any(item.figure for item in budget.items if item.figure))


def _budget_missing(evidence: Evidence) -> tuple[Claim, ...]:
    if evidence.refused is not None:
        return (Claim(f"error.{evidence.refused.slug}.says", evidence.refused.parameters),)
    missing = evidence.assessment.missing if evidence.assessment else ()
    return tuple(claim(f"budget.missing.{name}") for name in missing)


def _report(results: list[Result], library: Library) -> Report:
    """Put the most telling first: the first life that shows a cause, since later ones can be its consequences."""
    telling = sorted(results, key=lambda result: not (result.diagnosis and result.diagnosis.findings))
    return Report(tuple(telling), _versions(library))


def _versions(library: Library) -> Versions:
    return Versions(SCHEMA, library.tool, library.catalogue.version)
