"""The one sequence: text to events, events to evidence, evidence to diagnosis, diagnosis to plan, plan to patch.

Everything here is plain functions over values; what must be read from the world comes through ``question.Hub``.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from oomedic import causes as cause_files
from oomedic import remedies as remedy_files
from oomedic.answer import result_of, versions_of
from oomedic.catalogue import Catalogue
from oomedic.cause import Cause
from oomedic.diagnosis import diagnose, relevant, started
from oomedic.evidence import Evidence, Subject
from oomedic.finding import Diagnosis, Finding
from oomedic.gathering.known_models import checkpoint_of
from oomedic.instance import Instance, instances_of
from oomedic.models.checkpoint import Checkpoint
from oomedic.patches.patching import manifest_patch, move_patches
from oomedic.planning.plan import Plan, make_plan, settled, wished_plan
from oomedic.question import Hub, Library, Log, Manifest, Question
from oomedic.remedy import Remedy
from oomedic.result import Patch, Report, Result
from oomedic.understanding import Life, evidence_of, lives_of
from oomedic.workloads.workload import Workload

if TYPE_CHECKING:
    from oomedic.placement.node_pool import NodePool
    from oomedic.placement.placing import Placement

__all__ = ["Hub", "Library", "Log", "Manifest", "Question", "Shelf", "diagnose_crash", "diagnosed", "inspect_manifests"]


def diagnose_crash(question: Question, library: Library) -> Report:
    """Diagnose every life of every log; manifests alone are judged as they stand.

    Raises:
        OomedicError: when an input cannot be read or a name is not known.
    """
    before = None if question.before is None else _how_it_worked(question, library)
    results = [_judge(question, library, life, before) for life in lives_of(question, library)]
    return _report(results, library)


def inspect_manifests(manifests: Sequence[Manifest], library: Library) -> Report:
    """Tell what was understood of each engine in some manifests.

    Raises:
        InputError: when a manifest cannot be read.
    """
    from oomedic.manifest import read_files  # YAML is loaded only where a manifest is given
    from oomedic.placement.node_pool import node_pools_among

    results: list[Result] = []
    pools: list[NodePool] = []
    for file in read_files({each.path: each.text for each in manifests}, library.catalogue.arguments):
        if file.error is not None:
            raise file.error
        results += (_inspected(reading.workload) for reading in file.engines)
        pools += node_pools_among(file.objects)
    return Report(tuple(results), versions_of(library), node_pools=tuple(pools))


def _inspected(workload: Workload) -> Result:
    subject = Subject(workload.unit, workload.kind, workload.namespace, workload.name, workload.container)
    return Result(subject, "unknown", "computed", None, workload=workload, arguments=workload.arguments.given)


def _judge(question: Question, library: Library, life: Life, before: Evidence | None) -> Result:
    evidence = evidence_of(question, library, life)
    known = causes_for(evidence, library.catalogue)
    diagnosis = diagnosed(evidence, known, library.catalogue)
    plan, patch = None, None
    if before is not None:
        evidence, diagnosis = _compared(evidence, diagnosis, before)
    if diagnosis.findings:
        first = diagnosis.findings[0]
        plan = _plan(evidence, first, known, library.catalogue)
        plan = _with_moves(plan, question, life, library)
        patch = _patch(plan, question.manifests, life.workload, library.catalogue)
    elif question.remedies:
        plan = wished_plan(evidence, remedies_of(question.remedies, library.catalogue), Shelf(library.catalogue))
    result = result_of(evidence, diagnosis, plan, patch)
    return result._replace(placement=_placement(evidence, question, library))


def diagnosed(evidence: Evidence, known: Sequence[Cause], catalogue: Catalogue) -> Diagnosis:
    """Ask the causes; where nothing has run yet, the engine's own refusals come before a lack of memory."""
    found = diagnose(evidence, known)
    if evidence.events:
        return found
    from oomedic.foresight import refusals  # only where nothing has run
    from oomedic.search.formats import formats_of

    refused = refusals(evidence, formats_of(catalogue.formats()))
    codes = {finding.code for finding in refused}
    findings = (*refused, *(each for each in found.findings if each.code not in codes))
    return found._replace(findings=tuple(sorted(findings, key=lambda finding: finding.confidence == "possible")))


def _with_moves(plan: Plan, question: Question, life: Life, library: Library) -> Plan:
    """Say how the engine gets to the machines that are offered."""
    offers = (plan.best, *plan.alternatives)
    if life.workload is None or not any(offer.instance for offer in offers if offer is not None):
        return plan
    from oomedic.moving import with_moves  # only where another machine is offered for a manifest

    return with_moves(plan, life.workload, question.manifests, Shelf(library.catalogue).instances())


def _placement(evidence: Evidence, question: Question, library: Library) -> "Placement | None":
    """Judge every card that the pod could get, where node pools or its own labels tell."""
    workload = evidence.workload
    pools = any("NodePool" in manifest.text for manifest in question.manifests)
    if workload is None or not (pools or workload.node_selector or workload.node_terms):
        return None
    from oomedic.placement.placing import placement_of  # only where something says where the pod may run

    return placement_of(evidence, question.manifests, Shelf(library.catalogue).instances())


def _how_it_worked(question: Question, library: Library) -> Evidence | None:
    """Return what is known of the engine that worked: of the life that started, where a log holds several."""
    before = question.before
    if before is None:
        return None
    lives = lives_of(before, library)
    life = next((life for life in lives if started(life.events)), lives[-1])
    found = evidence_of(before._replace(options=question.options._replace(vllm=None)), library, life)
    return found if found.version_known else evidence_of(before._replace(options=question.options), library, life)


def _compared(evidence: Evidence, diagnosis: Diagnosis, before: Evidence) -> tuple[Evidence, Diagnosis]:
    """Name what changed since it worked; it stands in the proof of the first finding, without one in the remarks."""
    from oomedic.gathering.changes import calibrated_by, changes, claims_of  # only where it is told how it worked

    evidence = calibrated_by(evidence, before)
    first = diagnosis.findings[0] if diagnosis.findings else None
    crashed = settled(evidence, first) if first else evidence
    found = changes(before, crashed)
    claims = claims_of(found, before, crashed)
    if first is None:
        return evidence._replace(changes=found, remarks=(*evidence.remarks, *claims)), diagnosis
    findings = (first._replace(because=(*first.because, *claims)), *diagnosis.findings[1:])
    return evidence._replace(changes=found), diagnosis._replace(findings=findings)


def causes_for(evidence: Evidence, catalogue: Catalogue) -> tuple[Cause, ...]:
    """Return the causes that may apply to this evidence."""
    pages = (catalogue.page(code) for code in catalogue.codes())
    known = [(page["module"], tuple(page["arguments"]["reads"])) for page in pages if page["kind"] == "cause"]
    return cause_files.load(relevant(known, evidence.events))


def _plan(evidence: Evidence, finding: Finding, known: Iterable[Cause], catalogue: Catalogue) -> Plan:
    cause = next(each for each in known if each.code == finding.code)
    return make_plan(evidence, finding, cause, remedies_of(cause.helps, catalogue), Shelf(catalogue))


def remedies_of(codes: Iterable[str], catalogue: Catalogue) -> tuple[Remedy, ...]:
    """Return the remedies of some codes, in their order; what is no remedy is passed over."""
    modules = {page["code"]: page["module"] for page in map(catalogue.page, catalogue.codes())}
    return remedy_files.load([modules[code] for code in codes if code in modules])


def _patch(
    plan: Plan, manifests: tuple[Manifest, ...], workload: Workload | None, catalogue: Catalogue
) -> Patch | None:
    if plan.best is None or workload is None:
        return None
    if plan.best.moves:
        return next(Patch("diff", each.text) for each in move_patches(plan.best.moves[0]) if each.format == "diff")
    if plan.best.safety == "manual":
        return None
    texts = {manifest.path: manifest.text for manifest in manifests}
    if any(place.file not in texts for place in workload.edit_paths.values()):
        return None  # it was read from a running pod: what made the pod must be changed
    return manifest_patch(texts, workload, plan.best.changes, catalogue.arguments)


class Shelf:
    """What remedies may look up, from the catalogue."""

    def __init__(self, catalogue: Catalogue) -> None:
        """Take the catalogue."""
        self._catalogue = catalogue

    def variants_of(self, checkpoint: Checkpoint) -> tuple[Checkpoint, ...]:
        """Return the quantised checkpoints of the same weights, the largest first: it changes answers least."""
        variants = [checkpoint_of(model) for model in self._catalogue.variants(checkpoint.id)]
        smaller = [each for each in variants if each.estimate and each.id != checkpoint.id]
        return tuple(sorted(smaller, key=lambda each: -(each.estimate or 0)))

    def instances(self) -> tuple[Instance, ...]:
        """Return the instance types that have whole cards for CUDA."""
        return instances_of(self._catalogue.instances(), self._catalogue.gpu)


def _report(results: list[Result], library: Library) -> Report:
    """Put the most telling first: the first life that shows a cause, since later ones can be its consequences."""
    telling = sorted(results, key=lambda result: not (result.diagnosis and result.diagnosis.findings))
    return Report(tuple(telling), versions_of(library))
