"""A report for people: the cause in one sentence, the proof, the budget as a bar and a table, the plan, the change."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from oomedic.claim import Claim
from oomedic.figure import Figure
from oomedic.finding import Finding
from oomedic.memory.budget import Budget, Item
from oomedic.planning.plan import Offer, Plan
from oomedic.reports.draw import Pen, bar, table, wrapped
from oomedic.reports.phrases import Phrasebook
from oomedic.reports.wording import (
    beside_the_budget,
    card_and_version,
    changes,
    evidence,
    grouped,
    proof,
    subject,
    without_finding,
)
from oomedic.result import Report, Result
from oomedic.units import GIB

if TYPE_CHECKING:
    from oomedic.live.rollout import Verdict

_LETTERS: Final = {"weights": "W", "non_torch": "N", "activation": "A", "cuda_graphs": "G", "kv_cache": "K"}
_COLOURS: Final = {"certain": "red", "likely": "yellow", "possible": "blue"}
_SAFETY: Final = {"safe": "green", "trade-off": "yellow", "unsafe": "red", "manual": "blue"}
_BAR: Final = 60
_ESSENTIAL: Final = 3
"""Columns of a budget that a narrow terminal shows too: what, how much, from where to where."""
_WHERE: Final = 36
_POINTER: Final = 12
"""A longer pointer stands in the JSON alone."""


class Style(NamedTuple):
    """How a report is drawn."""

    phrases: Phrasebook
    pen: Pen
    names: dict[str, str]
    width: int = 100
    quiet: bool = False
    verbose: bool = False


def render(report: Report, style: Style) -> str:
    """Return the whole report as text; quiet, only what each result comes to."""
    many = len(report.results) > 1
    if style.quiet:
        return "\n".join(line for result in report.results for line in _headline(result, style, many=many)) + "\n"
    blocks = [list(_result(result, style, many=many)) for result in report.results]
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def _result(result: Result, style: Style, *, many: bool) -> Iterator[str]:
    if result.verdict is not None:
        yield from _verdict(result.verdict, style)
        if result.diagnosis is None:
            return
        yield ""
    yield from _headline(result, style, many=many)
    if result.diagnosis is not None:
        yield from _evidence(result, style)
    yield from _notes(result, style)
    yield from _budget(result, style)
    if result.plan is not None:
        yield from _plan(result.plan, style)
    if result.patch is not None and not _moves_first(result):
        yield from _patch(result.patch.text, style)
    yield from _places(result, style)
    yield from _missing(result, style)
    if style.verbose:
        yield from _settings(result, style)


def _verdict(verdict: "Verdict", style: Style) -> Iterator[str]:
    """Say how the rollout of a change ended."""
    colour = "green" if verdict.state == "healthy" else "red" if verdict.failed else "yellow"
    state = style.phrases.text(f"label.verdict-{verdict.state}")
    yield f"{_heading('verdict', style)}: {style.pen.paint(state, 'bold', colour)}"
    for each in verdict.because:
        yield from wrapped(style.phrases.say(each), style.width, "  ")


def _headline(result: Result, style: Style, *, many: bool) -> Iterator[str]:
    if many:
        yield style.pen.paint(subject(result, style.phrases), "bold")
    findings = result.diagnosis.findings if result.diagnosis else ()
    if findings:
        first = findings[0]
        code = style.pen.paint(f"{first.code} {first.name}", "bold", _COLOURS[first.confidence])
        yield f"{code} ({_confidence(first, style)})"
        yield from wrapped(style.phrases.say(first.because[0]), style.width, "")
        return
    for message in without_finding(result):
        yield from wrapped(style.phrases.say(message), style.width, "")


def _evidence(result: Result, style: Style) -> Iterator[str]:
    if result.diagnosis is None or not result.diagnosis.findings:
        return
    first, *others = result.diagnosis.findings
    yield ""
    shown = evidence(first)
    if shown:
        yield _heading("evidence", style)
        yield from _claims(shown, style)
    yield style.pen.paint(f"  {style.phrases.text('label.explain', code=first.code)}", "dim")
    if others:
        yield ""
        yield _heading("also", style)
    for each in others:
        yield f"  {style.pen.paint(f'{each.code} {each.name}', 'bold')} ({_confidence(each, style)})"
        yield from wrapped(style.phrases.say(each.because[0]), style.width, "    ")


def _notes(result: Result, style: Style) -> Iterator[str]:
    if result.notes:
        yield ""
        yield _heading("notes", style)
        yield from _claims(result.notes, style)


def _claims(claims: tuple[Claim, ...], style: Style) -> Iterator[str]:
    pointers = [style.phrases.named(claim.where) for claim in claims]
    width = max((len(where) for where in pointers if len(where) <= _POINTER), default=0)
    for claim, pointer in zip(claims, pointers, strict=True):
        where = pointer if len(pointer) <= _POINTER else ""
        lines = wrapped(style.phrases.say(claim), style.width - width - 4, "")
        yield f"  {style.pen.paint(where.ljust(width), 'cyan')}  {lines[0] if lines else ''}".rstrip()
        yield from (f"  {' ' * width}  {line}" for line in lines[1:])


def _budget(result: Result, style: Style) -> Iterator[str]:
    budget = result.budget
    says = [style.phrases.say(claim) for claim in beside_the_budget(result)]
    if budget is not None:
        yield ""
        yield f"{_heading('budget', style)}{card_and_version(result)}"
        yield from _bar(budget, style.width)
        yield from table(list(_rows(budget, style)), right=frozenset({1, 2}), within=(style.width, _ESSENTIAL))
    elif says:
        yield ""
    yield from (line for text in says for line in wrapped(text, style.width))


def _bar(budget: Budget, width: int) -> Iterator[str]:
    """Draw the request; parts inside it in start-up order. A budget that does not fit runs over the edge."""
    if budget.requested is None or budget.requested.value <= 0:
        return
    parts = [
        (_LETTERS[item.name], item.figure.value) for item in budget.items if item.figure is not None and item.inside
    ]
    if parts:
        yield f"  [{bar(parts, budget.requested.value, min(_BAR, width * 3 // 4))}"


def _rows(budget: Budget, style: Style) -> Iterator[list[str]]:
    for name, figure in (
        ("total", budget.total),
        ("free_at_start", budget.free_at_start),
        ("requested", budget.requested),
    ):
        if figure is not None:
            yield _row(style.phrases.text(f"label.{name}"), figure, style)
    for item in budget.items:
        yield _item_row(item, style)
        if item.name == "weights" and budget.encoder is not None:
            yield _row(f"    {style.phrases.text('label.encoder')}", budget.encoder, style)
    if budget.left is not None:
        yield _row(style.phrases.text("label.left"), budget.left, style)


def _item_row(item: Item, style: Style) -> list[str]:
    label = f"{_LETTERS[item.name]} {style.phrases.text(f'label.{item.name}')}"
    if item.figure is None:
        return [label, "–"]
    return _row(label if item.inside else f"{label} *", item.figure, style)


def _row(label: str, figure: Figure, style: Style) -> list[str]:
    band = ""
    if figure.high - figure.low > abs(figure.value) // 50:
        low, high = (style.phrases.number(end / GIB, ".2f") for end in (figure.low, figure.high))
        band = f"{low} … {high}"
    origin = style.phrases.text(f"label.origin-{figure.origin}")
    return [label, style.phrases.size(figure.value), band, origin, _where(style.phrases.named(figure.where), style)]


def _where(where: str, style: Style) -> str:
    return where if style.verbose or len(where) <= _WHERE else f"{where[: _WHERE - 1]}…"


def _plan(plan: Plan, style: Style) -> Iterator[str]:
    yield ""
    yield _heading("plan", style)
    if plan.best is None:
        yield from wrapped(style.phrases.text("plan.none"), style.width)
    offers = [offer for offer in (plan.best, *plan.alternatives) if offer is not None]
    for number, offer in enumerate(offers, start=1):
        yield from _offer(offer, style, number)
    if plan.rejected:
        yield ""
        yield _heading("rejected", style)
        for text, codes in grouped(plan.rejected, style.phrases, style.names).items():
            yield from wrapped(f"{', '.join(codes)}: {text}", style.width)


def _offer(offer: Offer, style: Style, number: int) -> Iterator[str]:
    name = f"{offer.remedy} {style.names.get(offer.remedy, '')}".strip()
    safety = style.phrases.text(f"label.safety-{offer.safety}")
    tag = f"[{name}, {style.pen.paint(safety, _SAFETY[offer.safety])}]"
    plain = f"  {number}. {changes(offer, style.phrases)}  [{name}, {safety}]"
    lines = [style.pen.paint(line.strip(), "bold") for line in wrapped(changes(offer, style.phrases), style.width - 5)]
    if len(plain) <= style.width:
        lines = [f"{lines[0]}  {tag}"]
    else:
        lines.append(tag)
    yield from (f"  {f'{number}.' if not place else '  '} {line}" for place, line in enumerate(lines))
    for claim in offer.cost:
        yield from wrapped(style.phrases.say(claim), style.width, "     ")
    yield from wrapped(proof(offer, style.phrases), style.width, "     ")


def _moves_first(result: Result) -> bool:
    """Tell whether the plan's own change is a move to another machine."""
    return result.plan is not None and result.plan.best is not None and bool(result.plan.best.moves)


def _places(result: Result, style: Style) -> Iterator[str]:
    """Say where the pod could land, and how it gets to the machine that is offered."""
    offers = (result.plan.best, *result.plan.alternatives) if result.plan else ()
    moves = any(offer.moves for offer in offers if offer)
    if result.placement is None and not moves:
        return
    from oomedic.reports.placement import move_lines, placement_lines  # only where something says where the pod may run

    if result.placement is not None:
        yield ""
        yield from placement_lines(result.placement, style.phrases, style.pen, style.width)
    if result.plan is not None and moves:
        yield ""
        yield from move_lines(result.plan, style.phrases, style.pen, style.width)


def _patch(text: str, style: Style) -> Iterator[str]:
    yield ""
    yield _heading("patch", style)
    for line in text.rstrip("\n").split("\n"):
        colour = "green" if line.startswith("+") else "red" if line.startswith("-") else "dim"
        yield style.pen.paint(line, colour)


def _missing(result: Result, style: Style) -> Iterator[str]:
    if result.diagnosis is None or not result.diagnosis.missing:
        return
    yield ""
    yield _heading("missing", style)
    for each in result.diagnosis.missing:
        yield from wrapped(style.phrases.say(each.what), style.width)
        yield style.pen.paint(f"      {style.phrases.say(each.how)}", "cyan")


def _settings(result: Result, style: Style) -> Iterator[str]:
    """Show every setting that the arithmetic used, and where it comes from."""
    if result.assessment is None:
        return
    yield ""
    yield _heading("settings", style)
    settings = result.assessment.config.settings
    known = [(name, setting) for name, setting in sorted(settings.items()) if setting.value is not None]
    say = style.phrases
    yield from table(
        [
            [name, str(setting.value), say.text(f"label.setting-{setting.origin}"), say.named(setting.where)]
            for name, setting in known
        ]
    )


def _confidence(finding: Finding, style: Style) -> str:
    return style.phrases.text(f"label.confidence-{finding.confidence}")


def _heading(name: str, style: Style) -> str:
    return style.pen.paint(style.phrases.text(f"label.{name}"), "bold")
