"""What was understood of a manifest, for people."""

from collections.abc import Iterator
from typing import Final

from oomedic.given import Value
from oomedic.reports.draw import Pen, table
from oomedic.reports.phrases import Phrasebook
from oomedic.result import Report
from oomedic.workload import Workload

_VALUE: Final = 60


def render(report: Report, phrases: Phrasebook, pen: Pen) -> str:
    """Return one block per engine; a manifest without an engine says so."""
    workloads = [result.workload for result in report.results if result.workload is not None]
    if not workloads:
        return phrases.text("inspect.none") + "\n"
    return "\n".join("\n".join(_workload(each, phrases, pen)) for each in workloads) + "\n"


def as_markdown(report: Report, phrases: Phrasebook) -> str:
    """Return one section per engine."""
    workloads = [result.workload for result in report.results if result.workload is not None]
    lines = [line for each in workloads for line in _section(each, phrases)] or [phrases.text("inspect.none")]
    return "\n".join(lines) + "\n"


def _workload(workload: Workload, phrases: Phrasebook, pen: Pen) -> Iterator[str]:
    yield pen.paint(workload.unit, "bold")
    yield from (f"  {text}" for text in _remarks(workload, phrases))
    yield from table(list(_facts(workload, phrases)))
    yield from table(list(_arguments(workload)), indent="    ")


def _section(workload: Workload, phrases: Phrasebook) -> Iterator[str]:
    yield from (f"## {workload.unit}", "")
    yield from (f"- {text}" for text in _remarks(workload, phrases))
    yield from (f"- {name}: `{value}`" for name, value in _facts(workload, phrases))
    arguments = list(_arguments(workload))
    if arguments:
        head = (phrases.text(f"column.{name}") for name in ("argument", "value", "where", "edit"))
        yield from ("", f"| {' | '.join(head)} |", "|--|--|--|--|")
        yield from (f"| {' | '.join(f'`{cell}`' if cell else '' for cell in row)} |" for row in arguments)
    yield ""


def _remarks(workload: Workload, phrases: Phrasebook) -> Iterator[str]:
    """Say why an engine is not read, and which of its words are not understood."""
    if workload.because is not None:
        yield phrases.say(workload.because)
    if workload.arguments.unknown:
        yield phrases.text("notes.arguments-unknown", flags=workload.arguments.unknown)
    for problem in workload.arguments.problems:
        yield f"{problem.where}: {phrases.say(problem)}" if problem.where else phrases.say(problem)


def _facts(workload: Workload, phrases: Phrasebook) -> Iterator[list[str]]:
    facts = [
        ("engine", " ".join(part for part in (workload.engine, workload.engine_version) if part)),
        ("image", workload.image),
        ("model", workload.model),
        ("GPUs", f"{workload.gpus_per_pod} x {workload.gpu_resource}" if workload.gpus_per_pod else None),
        ("nodes", _pairs(workload)),
        ("/dev/shm", _shm(workload, phrases)),  # noqa: S108 - the name of a mount
    ]
    return ([phrases.named(name), str(value)] for name, value in facts if value)


def _arguments(workload: Workload) -> Iterator[list[str]]:
    for name, given in workload.arguments.given.items():
        place = workload.edit_paths.get(name)
        yield [name, _shown(given.value), given.where, place.pointer if place else ""]


def _shown(value: Value) -> str:
    if value is None:
        return "–"
    text = " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return text if len(text) <= _VALUE else f"{text[: _VALUE - 1]}…"


def _pairs(workload: Workload) -> str:
    selector = [f"{key}={value}" for key, value in (workload.node_selector or {}).items()]
    affinity = [f"{key} in {'|'.join(values)}" for key, values in (workload.node_affinity or {}).items()]
    return ", ".join((*selector, *affinity))


def _shm(workload: Workload, phrases: Phrasebook) -> str | None:
    if workload.shm is None or not workload.shm.mounted:
        return None
    return workload.shm.size or phrases.text("inspect.shm-unlimited")
