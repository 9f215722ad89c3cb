"""What was understood of a manifest, for people."""

from collections.abc import Iterator

from oomedic.reports.draw import Pen, table
from oomedic.reports.phrases import Phrasebook
from oomedic.result import Report
from oomedic.workload import Workload


def render(report: Report, phrases: Phrasebook, pen: Pen) -> str:
    """Return one block per engine; a manifest without an engine says so."""
    workloads = [result.workload for result in report.results if result.workload is not None]
    if not workloads:
        return phrases.text("inspect.none") + "\n"
    return "\n".join("\n".join(_workload(each, phrases, pen)) for each in workloads) + "\n"


def _workload(workload: Workload, phrases: Phrasebook, pen: Pen) -> Iterator[str]:
    yield pen.paint(workload.unit, "bold")
    if workload.because is not None:
        yield f"  {phrases.say(workload.because)}"
    facts = [
        ("engine", " ".join(part for part in (workload.engine, workload.engine_version) if part)),
        ("image", workload.image),
        ("model", workload.model),
        ("GPUs", f"{workload.gpus_per_pod} x {workload.gpu_resource}" if workload.gpus_per_pod else None),
        ("nodes", _pairs(workload)),
        ("/dev/shm", _shm(workload)),  # noqa: S108 - the name of a mount
    ]
    yield from table([[name, str(value)] for name, value in facts if value])
    yield from table(list(_arguments(workload)), indent="    ")


def _arguments(workload: Workload) -> Iterator[list[str]]:
    for name, given in workload.arguments.given.items():
        place = workload.edit_paths.get(name)
        yield [name, str(given.value), given.where, place.pointer if place else ""]


def _pairs(workload: Workload) -> str:
    selector = [f"{key}={value}" for key, value in (workload.node_selector or {}).items()]
    affinity = [f"{key} in {'|'.join(values)}" for key, values in (workload.node_affinity or {}).items()]
    return ", ".join((*selector, *affinity))


def _shm(workload: Workload) -> str | None:
    if workload.shm is None or not workload.shm.mounted:
        return None
    return workload.shm.size or "memory, no limit"
