"""From what a cluster shows of a workload to its diagnosis: the same questions as about files, asked for each pod."""

import json
from collections.abc import Iterator
from typing import Any, Final

from oomedic.catalogue import Catalogue
from oomedic.claim import Claim, claim
from oomedic.finding import Missing
from oomedic.kube.ownership import Tree, managers, reference
from oomedic.live.revisions import differences
from oomedic.live.workload import ContainerLog, LivePod, LiveWorkload, Refused
from oomedic.models.checkpoint import Checkpoint
from oomedic.observed.reading import Beside
from oomedic.pipeline import diagnose_crash
from oomedic.planning.plan import Offer, Plan
from oomedic.question import Library, Log, Manifest, Question
from oomedic.remedy import Change
from oomedic.result import Report, Result
from oomedic.understanding import workloads_of
from oomedic.workloads.workload import Workload

_OF_THE_SERVER: Final = frozenset(
    ("managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink", "ownerReferences")
)
_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_SHOWN_NEIGHBOURS: Final = 5
BACK: Final = "FIX502"
SPEC_TEMPLATE: Final = "spec.template"
"""What the return to an earlier revision changes."""
WITH_REVISIONS: Final = frozenset(("Deployment", "StatefulSet", "DaemonSet"))


def runs_an_engine(pod: Tree, catalogue: Catalogue) -> bool:
    """Tell whether a container of the pod runs an engine that is known: vLLM, or one that is declined by name."""
    spec = pod.get("spec", {})
    if "vllm" not in json.dumps([spec.get("containers"), spec.get("initContainers")]).lower():
        return False
    return any(workload.engine for workload in workloads_of((manifest_of((pod,)),), catalogue))


def edited_object(live: LiveWorkload, catalogue: Catalogue) -> tuple[Tree, tuple[Workload, ...]]:
    """Return the topmost object in whose text an engine is found, and its engines; the pod itself where none is."""
    candidates = [*live.chain, *(pod.found for pod in live.pods)]
    for found in candidates:
        workloads = tuple(workloads_of((manifest_of((found,), live.config_maps),), catalogue))
        if workloads:
            return found, workloads
    return candidates[0], ()


def diagnose_live(live: LiveWorkload, base: Question, library: Library) -> Report:
    """Diagnose the pods of one workload; what several pods have in common is told once.

    Args:
        live: what the cluster shows.
        base: what the user says beside it: engine options and command line.
        library: the facts.

    Raises:
        OomedicError: when a name that the user gave is not known.
    """
    found, workloads = edited_object(live, library.catalogue)
    manifest = manifest_of((found,), live.config_maps)
    results: list[Result] = []
    versions = None
    for pod, log in _lives(live, workloads):
        report = diagnose_crash(_question(base, manifest, live, (pod, log)), library)
        versions = report.versions
        told = claim("cluster.pod", pod=pod.name if pod else None, container=log.container if log else None)
        results += (_with_notes(result, live, found, told) for result in report.results)
    assert versions is not None  # noqa: S101 - _lives yields at least one
    return Report(tuple(_with_way_back(result, live, found) for result in _distinct(results)), versions)


def _with_way_back(result: Result, live: LiveWorkload, found: Tree) -> Result:
    """Add the return to the revision that ran to the plan, in place of the step that a person would have to take."""
    former, controller = live.former, controller_among(live.chain)
    crashes = result.outcome != "starts" or (result.diagnosis is not None and bool(result.diagnosis.findings))
    if former is None or controller is None or found is not controller or not crashes:
        return result
    change = Change(SPEC_TEMPLATE, None, former.number, BACK)
    step = claim("cluster.back", number=former.number, at=former.at)
    proof = f"revision {former.number}"
    offer = Offer(BACK, (change,), "trade-off", (claim("FIX502.cost"),), proof=proof, step=step)
    plan = result.plan or Plan(None, (), (), None)
    best = None if plan.best is not None and plan.best.remedy == BACK else plan.best
    others = tuple(each for each in plan.alternatives if each.remedy != BACK)
    return result._replace(plan=plan._replace(best=best, alternatives=(*others, offer)))


def _lives(live: LiveWorkload, workloads: tuple[Workload, ...]) -> Iterator[tuple[LivePod | None, ContainerLog | None]]:
    """Yield one log a pod and engine: the life before, where it can be had; a pod without a log says something too."""
    engines = {workload.container for workload in workloads}
    if not live.pods:
        yield None, None
    for pod in live.pods:
        chosen: dict[str, ContainerLog] = {}
        for log in pod.logs:  # those of previous lives come first
            if log.text and (not engines or log.container in engines):
                chosen.setdefault(log.container, log)
        yield from ((pod, log) for log in chosen.values())
        if not chosen:
            yield pod, None


def _question(
    base: Question, manifest: Manifest, live: LiveWorkload, life: tuple[LivePod | None, ContainerLog | None]
) -> Question:
    pod, log = life
    logs = () if log is None or pod is None else (Log(f"{pod.name}/{log.container}", (log.text,)),)
    seen = [*((pod.found, *pod.events) if pod else ()), *((live.node,) if live.node else ())]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": seen})
    beside = [Beside(pod.name if pod else "cluster", text, "objects")] if seen else []
    beside += [Beside(each.where, each.text, each.kind) for each in (pod.printed if pod else ())]
    pools = (manifest_of(live.node_pools),) if live.node_pools else ()
    return base._replace(
        logs=logs, manifests=(manifest, *pools), beside=tuple(beside), before=_how_it_ran(live, base.checkpoint)
    )


def _how_it_ran(live: LiveWorkload, checkpoint: Checkpoint | None) -> Question | None:
    """Ask about the revision that ran, on the node where it runs."""
    controller, former = controller_among(live.chain), live.former
    if former is None or controller is None:
        return None
    ran = {**controller, "spec": {**controller["spec"], "template": former.template}}
    node = [Beside("former", json.dumps(former.node), "objects")] if former.node else []
    return Question(manifests=(manifest_of((ran,)),), checkpoint=checkpoint, beside=tuple(node))


def controller_among(chain: tuple[Tree, ...]) -> Tree | None:
    """Return the object of which earlier revisions are kept."""
    return next((each for each in chain if each.get("kind") in WITH_REVISIONS), None)


def manifest_of(objects: tuple[Tree, ...], config_maps: tuple[Tree, ...] = ()) -> Manifest:
    """Write objects as a person would have: without what the server added."""
    import yaml  # only where a cluster is read

    found = reference(objects[0])
    documents = [as_written(each) for each in (*objects, *config_maps)]
    text = yaml.dump_all(documents, Dumper=yaml.CSafeDumper, sort_keys=False, width=10_000, allow_unicode=True)
    return Manifest(f"{found.kind.lower()}/{found.name}.yaml", text)


def as_written(found: Tree) -> dict[str, Any]:
    """Return an object without its status and without what the server keeps in its metadata."""
    metadata = {key: item for key, item in found.get("metadata", {}).items() if key not in _OF_THE_SERVER}
    annotations = {key: item for key, item in (metadata.get("annotations") or {}).items() if key != _APPLIED}
    metadata.pop("annotations", None)
    if annotations:
        metadata["annotations"] = annotations
    rest = {key: item for key, item in found.items() if key not in {"status", "metadata", "apiVersion", "kind"}}
    return {"apiVersion": found.get("apiVersion"), "kind": found.get("kind"), "metadata": metadata, **rest}


def _with_notes(result: Result, live: LiveWorkload, found: Tree, told: Claim) -> Result:
    notes = (told, *_ownership(live, found), *_neighbours(live), *_history(live), *live.remarks)
    missing = tuple(map(_missing, live.refused))
    diagnosis = result.diagnosis
    if diagnosis is not None:
        diagnosis = diagnosis._replace(missing=diagnosis.missing + missing)
    return result._replace(notes=result.notes + notes, diagnosis=diagnosis)


def _ownership(live: LiveWorkload, found: Tree) -> Iterator[Claim]:
    for each in live.chain:
        if each is found:
            break
        yield claim("cluster.owned", owner=str(reference(each)))
    for manager in managers(found):
        yield claim(f"cluster.managed-{manager.tool}", name=manager.name)


def _neighbours(live: LiveWorkload) -> Iterator[Claim]:
    if live.neighbours and live.node is not None:
        shown = live.neighbours[:_SHOWN_NEIGHBOURS]
        names = shown if len(shown) == len(live.neighbours) else (*shown, "…")
        yield claim("cluster.neighbours", node=reference(live.node).name, names=names)


def _history(live: LiveWorkload) -> Iterator[Claim]:
    """Say with which revision the workload is compared, and what its pods have otherwise beside arguments."""
    if live.ran_itself_until is not None:
        yield claim("cluster.ran-itself", at=live.ran_itself_until)
    former, controller = live.former, controller_among(live.chain)
    if former is None or controller is None:
        return
    if former.until is None:
        yield claim("cluster.former", number=former.number, at=former.at)
    else:
        yield claim("cluster.former-until", number=former.number, at=former.at, until=former.until)
    yield from differences(former, controller["spec"]["template"])


def _missing(refused: Refused) -> Missing:
    how = claim("cluster.without-how", rule=refused.rule, namespace=refused.namespace or "*")
    return Missing(claim(f"cluster.without-{refused.fact}"), how)


def _distinct(results: list[Result]) -> Iterator[Result]:
    """Yield the results that say something of their own, those with a cause first."""
    seen: set[Any] = set()
    for result in sorted(results, key=lambda result: not (result.diagnosis and result.diagnosis.findings)):
        findings = result.diagnosis.findings if result.diagnosis else ()
        key = result.subject.unit, findings[0].code if findings else None, result.outcome
        if key not in seen:
            seen.add(key)
            yield result
