"""oomedic list: what oomedic knows."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from oomedic.catalogue import Catalogue
from oomedic.entrypoints.colours import colours
from oomedic.entrypoints.commands.pricing import priced_instances
from oomedic.entrypoints.terminal import as_data, catalogue, phrasebook, write
from oomedic.instance import REGION, Instance, price_rank
from oomedic.reports.draw import Pen, table
from oomedic.reports.phrases import Phrasebook
from oomedic.units import gib

if TYPE_CHECKING:
    from argparse import Namespace


def run(options: "Namespace") -> int:
    """Show one list: as a table, as data, or as a table of Markdown."""
    facts = catalogue(options)
    phrases = phrasebook(options)
    rows = [_translated(row, options.kind, phrases) for row in _rows(facts, options)]
    if options.output in {"json", "yaml"}:
        write(as_data(rows, options.output))
        return 0
    columns = _COLUMNS.get(options.kind, tuple(rows[0]) if rows else ())
    head = [phrases.text(f"column.{name}") for name in columns]
    cells = [head, *([_cell(name, row[name], phrases) for name in columns] for row in rows)]
    if options.output == "markdown":
        cells.insert(1, ["--"] * len(columns))
        write("".join(f"| {' | '.join(row)} |\n" for row in cells))
        return 0
    pen = Pen(colour=colours(options))
    lines = table(cells, indent="")
    write("\n".join(line if number else pen.paint(line, "bold") for number, line in enumerate(lines)) + "\n")
    return 0


def _rows(facts: Catalogue, options: "Namespace") -> Iterable[dict[str, Any]]:
    return _PRICED[options.kind](facts, options) if options.kind in _PRICED else _ROWS[options.kind](facts)


def _translated(row: dict[str, Any], kind: str, phrases: Phrasebook) -> dict[str, Any]:
    """Put the sentence of a signature or a release into the language; those of a user stay as they are."""
    if kind not in _SENTENCES:
        return row
    field, key, prefix = _SENTENCES[kind]
    message = f"{prefix}.{row[key]}"
    return {**row, field: phrases.text(message)} if phrases.has(message) else row


def _pages(facts: Catalogue, kind: str) -> Iterable[dict[str, Any]]:
    for code in facts.codes():
        page = facts.page(code)
        if page["kind"] == kind:
            yield {"code": code, "name": page["name"], "title": page["title"]}


def _causes(facts: Catalogue) -> Iterable[dict[str, Any]]:
    return _pages(facts, "cause")


def _remedies(facts: Catalogue) -> Iterable[dict[str, Any]]:
    return _pages(facts, "remedy")


def _gpus(facts: Catalogue, options: "Namespace") -> Iterable[dict[str, Any]]:
    """Every GPU; with prices the cheapest instance type that has it, by the hour of one GPU."""
    cheapest = _cheapest_by_gpu(facts, options) if _asks_for_prices(options) else {}
    for gpu in facts.gpus():
        capability = ".".join(map(str, gpu.capability)) if gpu.capability else None
        row = {"name": gpu.name, "memory": gib(gpu.memory.value), "capability": capability, "origin": gpu.memory.origin}
        if not _asks_for_prices(options):
            yield row
        elif gpu.name in cheapest:
            yield {**row, **_priced(cheapest[gpu.name])}


def _asks_for_prices(options: "Namespace") -> bool:
    return bool(options.prices or options.region)


def _cheapest_by_gpu(facts: Catalogue, options: "Namespace") -> dict[str, Instance]:
    best: dict[str, Instance] = {}
    for instance in priced_instances(facts, options):
        name = instance.gpu.name
        if name not in best or _per_gpu(instance) < _per_gpu(best[name]):
            best[name] = instance
    return best


def _per_gpu(instance: Instance) -> tuple[float, int]:
    return price_rank(instance)[0] / instance.gpus, instance.gpus


def _priced(instance: Instance) -> dict[str, Any]:
    price = instance.price
    return {
        "instance": instance.type,
        "gpus": instance.gpus,
        "usd_per_hour": price,
        "usd_per_gpu_hour": None if price is None else round(price / instance.gpus, 4),
        "region": instance.region,
        "price_date": instance.price_date,
    }


def _instances(facts: Catalogue, options: "Namespace") -> Iterable[dict[str, Any]]:
    """Every accelerated type; what is no target for CUDA is marked by its maker."""
    whole = {instance.type: instance for instance in priced_instances(facts, options)}
    for row in facts.instances():
        instance = whole.get(row["type"])
        price = instance.price if instance else row.get("price", {}).get(options.region or REGION)
        yield {
            "type": row["type"],
            "gpus": row.get("gpu_fraction") or row.get("gpus") or row.get("accelerators"),
            "gpu": row.get("gpu") or row.get("accelerator") or row.get("label_gpu_name"),
            "fraction": bool(row.get("gpu_fraction")),
            "cuda": row["cuda"],
            "maker": row.get("maker"),
            "gpu_memory": gib(instance.gpu.memory.value) if instance else None,
            "gpu_memory_origin": instance.gpu.memory.origin if instance else None,
            "interconnect": row.get("interconnect"),
            "vcpu": row.get("vcpu"),
            "memory": row.get("memory"),
            "local_disk_gb": row.get("local_disk_gb"),
            "capacity": row.get("capacity"),
            "usd_per_hour": price,
            "region": instance.region if instance else options.region or REGION,
            "price_date": instance.price_date if instance else row.get("price_date"),
        }


def _models(facts: Catalogue) -> Iterable[dict[str, Any]]:
    return ({"id": model} for model in facts.models())


def _signatures(facts: Catalogue) -> Iterable[dict[str, Any]]:
    for row in facts.signatures():
        yield {"name": row["name"], "kind": row["kind"], "phase": row["phase"], "says": row["says"]}


def _versions(facts: Catalogue) -> Iterable[dict[str, Any]]:
    for row in facts.engines():
        yield {"version": row["version"], "source": row.get("source")}


_COLUMNS = {
    "instances": ("type", "gpus", "gpu", "gpu_memory", "interconnect", "vcpu", "memory", "usd_per_hour", "capacity")
}
"""What a terminal has room for; JSON has all."""
_SENTENCES = {"signatures": ("says", "name", "signature"), "versions": ("source", "version", "release")}
"""Field, key and message of what is a sentence in a row."""
_FIGURES = {"gpus", "gpu_memory", "memory", "usd_per_hour", "usd_per_gpu_hour"}
_PRICED = {"gpus": _gpus, "instances": _instances}
_ROWS = {
    "causes": _causes,
    "remedies": _remedies,
    "models": _models,
    "signatures": _signatures,
    "versions": _versions,
}


def _cell(name: str, value: Any, phrases: Phrasebook) -> str:
    if value is None:
        return "–"
    if name == "origin":
        return phrases.text(f"label.origin-{value}")
    if name == "interconnect":
        return phrases.named(value)
    return phrases.written(str(value)) if name in _FIGURES else str(value)
