"""What was understood of a manifest, for people."""

from collections.abc import Iterator
from typing import Final

from oomedic.arguments.given import Value
from oomedic.placement.node_pool import NodePool
from oomedic.reports.draw import Pen, table
from oomedic.reports.phrases import Phrasebook
from oomedic.result import Report
from oomedic.workloads.workload import EditPath, Workload

_VALUE: Final = 60


def render(report: Report, phrases: Phrasebook, pen: Pen) -> str:
    """Return one block per engine; a manifest without an engine says so."""
    workloads = [result.workload for result in report.results if result.workload is not None]
    blocks = ["\n".join(_workload(each, phrases, pen)) for each in workloads]
    blocks = blocks or [phrases.text("inspect.none")]
    blocks += ["\n".join(_node_pool(pool, phrases, pen)) for pool in report.node_pools]
    return "\n".join(blocks) + "\n"


def _node_pool(pool: NodePool, phrases: Phrasebook, pen: Pen) -> Iterator[str]:
    yield pen.paint(f"NodePool/{pool.name}", "bold")
    yield from table([[name, value] for name, value in _pool_facts(pool, phrases)])


def _pool_section(pool: NodePool, phrases: Phrasebook) -> Iterator[str]:
    yield from (f"## NodePool/{pool.name}", "")
    yield from (f"- {name}: `{value}`" for name, value in _pool_facts(pool, phrases))
    yield ""


def _pool_facts(pool: NodePool, phrases: Phrasebook) -> Iterator[tuple[str, str]]:
    for each in pool.requirements:
        yield each.key, f"{each.operator} {', '.join(each.values)}".strip()
    for taint in pool.taints:
        yield "taint", str(taint)
    for name, amount in pool.limits.items():
        yield phrases.text("inspect.pool-limit", name=name), amount


def as_markdown(report: Report, phrases: Phrasebook) -> str:
    """Return one section per engine and node pool."""
    workloads = [result.workload for result in report.results if result.workload is not None]
    lines = [line for each in workloads for line in _section(each, phrases)] or [phrases.text("inspect.none")]
    lines += [line for pool in report.node_pools for line in _pool_section(pool, phrases)]
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
    if workload.arguments.unknown and workload.server is None:
        yield phrases.text("notes.arguments-unknown", flags=workload.arguments.unknown)
    for problem in workload.arguments.problems:
        yield f"{problem.where}: {phrases.say(problem)}" if problem.where else phrases.say(problem)
    for name, given in workload.arguments.shadowed:
        yield phrases.text("inspect.shadowed", name=name, value=_shown(given.value), where=given.where)
    if workload.dead_variables:
        yield phrases.text("inspect.dead-variables", names=workload.dead_variables)
    yield from map(phrases.say, workload.notes)
    yield from _kept_by(workload, phrases)


def _kept_by(workload: Workload, phrases: Phrasebook) -> Iterator[str]:
    """Say which hands keep the object: a change of it is undone, or lost, unless it is made there."""
    if workload.owner is not None:
        yield phrases.text("inspect.owner", owner=workload.owner)
    for manager in workload.managed_by:
        yield phrases.text(f"inspect.managed-by-{manager.tool}", name=manager.name)


def _facts(workload: Workload, phrases: Phrasebook) -> Iterator[list[str]]:
    facts = [
        ("engine", " ".join(part for part in (workload.engine, workload.engine_version) if part)),
        ("image", workload.image),
        ("model", workload.model if not workload.model_hint else f"{workload.model} ({workload.model_hint})"),
        ("GPUs", _gpus(workload, phrases)),
        ("role", workload.role),
        ("nodes", _pairs(workload)),
        ("/dev/shm", _shm(workload, phrases)),  # noqa: S108 - the name of a mount
    ]
    return ([phrases.named(name), str(value)] for name, value in facts if value)


def _gpus(workload: Workload, phrases: Phrasebook) -> str | None:
    if not workload.gpus_per_pod:
        return None
    gpus = f"{workload.gpus_per_pod} x {workload.gpu_resource}"
    if workload.group_size == 1:
        return gpus
    return f"{gpus}, {phrases.text('inspect.group', pods=workload.group_size)}"


def _arguments(workload: Workload) -> Iterator[list[str]]:
    for name, given in workload.arguments.given.items():
        place = workload.edit_paths.get(name)
        yield [name, _shown(given.value), given.where, _place(place, workload) if place else ""]


def _place(path: EditPath, workload: Workload) -> str:
    """Say where an edit would go; the object only where it is another one."""
    own = path.object in {f"{workload.kind}/{workload.name}", "values"} and path.pointer is not None
    return " ".join(part for part in (None if own else path.object, path.pointer, path.inner) if part)


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
