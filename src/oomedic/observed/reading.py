"""Files beside the log, each given to the reader of its kind: facts, and the engines that pods run."""

import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from oomedic.arguments.table import ArgumentTable
from oomedic.observed.facts import Observed, PodState
from oomedic.observed.pods import engine_container
from oomedic.observed.recognition import FileKind
from oomedic.observed.telling import About
from oomedic.workloads.workload import Workload


class Beside(NamedTuple):
    """One file that is no log: its path, its text and what it is."""

    path: str
    text: str
    kind: FileKind


class Seen(NamedTuple):
    """What the files told: facts, and engines as pods run them, for where no manifest is at hand."""

    observed: Observed = Observed()
    workloads: tuple[Workload, ...] = ()


def read_beside(files: Iterable[Beside], table: ArgumentTable) -> Seen:
    """Read all files.

    Raises:
        InputError: ``yaml-…`` or ``json-unreadable`` with the place.
    """
    seen = Seen()
    for file in files:
        found = _read(file, table)
        seen = Seen(seen.observed.plus(found.observed), seen.workloads + found.workloads)
    worst = max(seen.observed.pods, key=lambda pod: _restarts(pod, None), default=None)
    return seen._replace(workloads=tuple(sorted(seen.workloads, key=lambda workload: not _runs(worst, workload))))


def whom(observed: Observed, workload: Workload | None) -> About:
    """Choose the pod of a workload among those that were seen, else the one that fares worst."""
    pods = observed.pods
    if workload is not None:
        own = [pod for pod in pods if _is_of(pod, workload)]
        pods = tuple(own) or pods
    container = workload.container if workload else None
    pod = max(pods, key=lambda pod: _restarts(pod, container), default=None)
    found = engine_container(pod, container) if pod else None
    named = workload.name if workload is not None and workload.kind != "Pod" else None
    return About(pod, found.name if found and workload else None, named or None)


def _read(file: Beside, table: ArgumentTable) -> Seen:
    if file.kind == "describe":
        from oomedic.observed.describe import read_description  # each kind of file loads its own reader

        described = read_description(file.text, file.path)
        pods = json.dumps({"apiVersion": "v1", "kind": "List", "items": described.pods}) if described.pods else ""
        return Seen(described.observed, tuple(_engines(pods, file.path, table)))
    if file.kind == "objects":
        from oomedic.observed.objects import read_objects

        return Seen(read_objects(file.text, file.path), tuple(_engines(file.text, file.path, table)))
    return Seen(_facts(file))


def _facts(file: Beside) -> Observed:
    if file.kind == "events" and file.text.lstrip().startswith("{"):
        from oomedic.observed.objects import read_objects  # as `kubectl get events -o json` prints them

        return read_objects(file.text, file.path)
    if file.kind == "events":
        from oomedic.observed.kube_events import read_events_table

        return Observed(happened=read_events_table(file.text.splitlines(), file.path))
    if file.kind == "dcgm":
        from oomedic.observed.dcgm import read_dcgm

        return read_dcgm(file.text, file.path)
    if file.kind == "nvidia-smi":
        from oomedic.observed.nvidia_smi import read_nvidia_smi

        return read_nvidia_smi(file.text, file.path)
    return Observed()


def _engines(text: str, path: str, table: ArgumentTable) -> Iterator[Workload]:
    """Yield the engines that the objects run, those of controllers before those of single pods."""
    from oomedic.manifest import read_workloads

    found = read_workloads(text, path, table) if text else ()
    return iter(sorted(found, key=lambda workload: workload.kind == "Pod"))


def _runs(pod: PodState | None, workload: Workload) -> bool:
    return pod is not None and _is_of(pod, workload)


def _is_of(pod: PodState, workload: Workload) -> bool:
    return pod.name == workload.name or bool(workload.name and pod.name.startswith(f"{workload.name}-"))


def _restarts(pod: PodState, container: str | None) -> tuple[bool, int]:
    found = engine_container(pod, container)
    failed = bool(pod.reason or pod.unschedulable) or (found is not None and any(end.exit_code for end in found.ends))
    return failed, (found.restarts or 0) if found else 0
