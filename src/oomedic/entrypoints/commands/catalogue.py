"""oomedic list: what oomedic knows."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from oomedic.catalogue import Catalogue
from oomedic.entrypoints.colours import colours
from oomedic.entrypoints.terminal import catalogue, write
from oomedic.reports.draw import Pen, table
from oomedic.units import gib

if TYPE_CHECKING:
    from argparse import Namespace


def run(options: "Namespace") -> int:
    """Show one list, as a table or as JSON."""
    rows = list(_ROWS[options.kind](catalogue(options)))
    if options.output == "json":
        import json  # loaded with the index already

        write(json.dumps(rows, indent=2, ensure_ascii=False) + "\n")
        return 0
    pen = Pen(colour=colours(options))
    lines = table([list(map(_cell, row.values())) for row in rows], indent="")
    write("\n".join(pen.paint(line, "bold") if not number else line for number, line in enumerate(lines, 1)) + "\n")
    return 0


def _pages(facts: Catalogue, kind: str) -> Iterable[dict[str, Any]]:
    for code in facts.codes():
        page = facts.page(code)
        if page["kind"] == kind:
            yield {"code": code, "name": page["name"], "title": page["title"]}


def _causes(facts: Catalogue) -> Iterable[dict[str, Any]]:
    return _pages(facts, "cause")


def _remedies(facts: Catalogue) -> Iterable[dict[str, Any]]:
    return _pages(facts, "remedy")


def _gpus(facts: Catalogue) -> Iterable[dict[str, Any]]:
    for gpu in facts.gpus():
        capability = ".".join(map(str, gpu.capability)) if gpu.capability else None
        yield {"name": gpu.name, "memory": gib(gpu.memory.value), "capability": capability, "origin": gpu.memory.origin}


def _instances(facts: Catalogue) -> Iterable[dict[str, Any]]:
    for row in facts.instances():
        price = next(iter(row.get("price", {}).values()), None)
        yield {"type": row["type"], "gpus": row.get("gpus"), "gpu": row.get("gpu"), "usd_per_hour": price}


def _models(facts: Catalogue) -> Iterable[dict[str, Any]]:
    return ({"id": model} for model in facts.models())


def _signatures(facts: Catalogue) -> Iterable[dict[str, Any]]:
    for row in facts.signatures():
        yield {"name": row["name"], "kind": row["kind"], "phase": row["phase"], "says": row["says"]}


def _versions(facts: Catalogue) -> Iterable[dict[str, Any]]:
    for row in facts.engines():
        yield {"version": row["version"], "source": row.get("source")}


_ROWS = {
    "causes": _causes,
    "remedies": _remedies,
    "gpus": _gpus,
    "instances": _instances,
    "models": _models,
    "signatures": _signatures,
    "versions": _versions,
}


def _cell(value: Any) -> str:
    return "–" if value is None else str(value)
