"""Several budgets side by side, one row each: a sweep over values, releases or cards."""

from collections.abc import Iterator, Sequence
from typing import Final

from oomedic.memory.budget import ITEMS
from oomedic.reports.draw import Pen, table
from oomedic.reports.phrases import Phrasebook
from oomedic.result import Report, Result

_COLOURS: Final = {"starts": "green", "crashes": "red", "unknown": "yellow"}


def as_text(report: Report, phrases: Phrasebook, pen: Pen) -> str:
    """Return the results as a table for a terminal."""
    head, *rows = rows_of(report, phrases)
    figures = frozenset(range(len(head) - len(ITEMS) - 3, len(head)))
    lines = table([head, *rows], right=figures, indent="")
    painted = (
        pen.paint(line, _COLOURS[result.outcome]) if result.outcome != "starts" else line
        for line, result in zip(lines[1:], report.results, strict=True)
    )
    return "\n".join((pen.paint(lines[0], "bold"), *painted)) + "\n"


def as_markdown(report: Report, phrases: Phrasebook) -> str:
    """Return the results as a Markdown table."""
    head, *rows = rows_of(report, phrases)
    aligned = ["--" if place < len(head) - len(ITEMS) - 3 else "--:" for place in range(len(head))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, aligned, *rows)) + "\n"


def rows_of(report: Report, phrases: Phrasebook) -> list[list[str]]:
    """Return a head and one row for each result: what differs between them, the outcome, the parts, the cache."""
    names = _varying(report.results)
    head = [*names, phrases.text("comparison.outcome"), *(phrases.text(f"label.{name}") for name in ITEMS)]
    head += [phrases.text(name) for name in ("label.left", "comparison.tokens", "comparison.at-once")]
    return [head, *([*_differences(result, names), *_row(result, phrases)] for result in report.results)]


def _varying(results: Sequence[Result]) -> list[str]:
    """Return what differs between the results: card and release first, then arguments."""
    subjects = [name for name in ("gpu", "vllm") if len({getattr(result.subject, name) for result in results}) > 1]
    arguments = dict.fromkeys(name for result in results for name in result.arguments)
    differing = [name for name in arguments if len({_argument(result, name) for result in results}) > 1]
    return subjects + differing


def _differences(result: Result, names: Sequence[str]) -> Iterator[str]:
    for name in names:
        yield str(getattr(result.subject, name) or "–") if name in {"gpu", "vllm"} else _argument(result, name)


def _argument(result: Result, name: str) -> str:
    given = result.arguments.get(name)
    return "–" if given is None or given.value is None else str(given.value)


def _row(result: Result, phrases: Phrasebook) -> Iterator[str]:
    yield _outcome(result, phrases)
    budget = result.budget
    for name in ITEMS:
        figure = budget.item(name) if budget else None
        yield "–" if figure is None else phrases.size(figure.value)
    yield "–" if budget is None or budget.left is None else phrases.size(budget.left.value)
    kv = result.assessment.kv if result.assessment else None
    holds = kv is not None and kv.fits
    yield phrases.number(kv.tokens, ",") if kv is not None and holds and kv.tokens is not None else "–"
    at_once = kv.max_concurrency if kv is not None and holds else None
    yield phrases.number(at_once, ".2f") if at_once is not None else "–"


def _outcome(result: Result, phrases: Phrasebook) -> str:
    """Say whether it starts, else where it dies, or why that cannot be told."""
    return phrases.text(f"comparison.{result.outcome}", phase=result.phase)
