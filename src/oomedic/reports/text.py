"""A report for people: the cause in one sentence, the proof, the budget as a bar and a table, the plan, the change."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from oomedic.assessment import Assessment
from oomedic.claim import Claim
from oomedic.figure import Figure
from oomedic.finding import Finding
from oomedic.memory.budget import Budget, Item
from oomedic.planning.plan import Offer, Plan, Rejected
from oomedic.remedy import Change
from oomedic.reports.draw import Pen, bar, table, wrapped
from oomedic.reports.phrases import Phrasebook
from oomedic.result import Report, Result
from oomedic.units import GIB

_LETTERS: Final = {"weights": "W", "non_torch": "N", "activation": "A", "cuda_graphs": "G", "kv_cache": "K"}
_COLOURS: Final = {"certain": "red", "likely": "yellow", "possible": "blue"}
_SAFETY: Final = {"safe": "green", "trade-off": "yellow", "unsafe": "red", "manual": "blue"}
_BAR: Final = 60
_WHERE: Final = 36


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
    return "\n".join("\n".join(block) for block in blocks) + "\n"


def _result(result: Result, style: Style, *, many: bool) -> Iterator[str]:
    yield from _headline(result, style, many=many)
    if result.diagnosis is not None:
        yield from _evidence(result, style)
    yield from _notes(result, style)
    yield from _budget(result, style)
    if result.plan is not None:
        yield from _plan(result.plan, style)
    if result.patch is not None:
        yield from _patch(result.patch.text, style)
    yield from _missing(result, style)
    if style.verbose:
        yield from _settings(result, style)


def _headline(result: Result, style: Style, *, many: bool) -> Iterator[str]:
    if many:
        yield style.pen.paint(_subject(result, style), "bold")
    findings = result.diagnosis.findings if result.diagnosis else ()
    if findings:
        first = findings[0]
        code = style.pen.paint(f"{first.code} {first.name}", "bold", _COLOURS[first.confidence])
        yield f"{code} ({first.confidence})"
        yield from wrapped(style.phrases.say(first.because[0]), style.width, "")
        return
    for message in _without_finding(result):
        yield from wrapped(style.phrases.say(message), style.width, "")


def _without_finding(result: Result) -> Iterator[Claim]:
    """Say what is known where no cause stands."""
    if result.diagnosis is None or (result.outcome_origin == "computed" and result.outcome != "unknown"):
        key = {"starts": "computed-starts", "crashes": "computed-crashes"}.get(result.outcome, "unknown")
        yield Claim(f"diagnosis.{key}", {"phase": result.phase})
        return
    if result.outcome == "starts":
        yield Claim("diagnosis.starts", {})
        return
    error = result.diagnosis.first_error
    if error is None or error.message == "diagnosis.first-error":
        yield Claim("diagnosis.not-recognised" if result.outcome == "crashes" else "diagnosis.no-error", {})
    if error is not None:
        yield error
    if result.phase is not None:
        yield Claim("diagnosis.reached", {"phase": result.phase})


def _subject(result: Result, style: Style) -> str:
    subject = result.subject
    parts = [subject.unit, subject.gpu, f"vLLM {subject.vllm}" if subject.vllm else None]
    if subject.life is not None:
        parts.append(style.phrases.text("label.lives", number=subject.life))
    return " · ".join(part for part in parts if part) or "–"


def _evidence(result: Result, style: Style) -> Iterator[str]:
    if result.diagnosis is None or not result.diagnosis.findings:
        return
    first, *others = result.diagnosis.findings
    yield ""
    yield _heading("evidence", style)
    yield from _claims(first.because[1:] or first.because, style)
    yield style.pen.paint(f"  {style.phrases.text('label.explain', code=first.code)}", "dim")
    if others:
        yield ""
        yield _heading("also", style)
        yield from table([[f"{each.code} {each.name}", f"({each.confidence})", _first(each, style)] for each in others])


def _notes(result: Result, style: Style) -> Iterator[str]:
    if result.notes:
        yield ""
        yield _heading("notes", style)
        yield from _claims(result.notes, style)


def _first(finding: Finding, style: Style) -> str:
    return style.phrases.say(finding.because[0])


def _claims(claims: tuple[Claim, ...], style: Style) -> Iterator[str]:
    width = max((len(claim.where) for claim in claims if len(claim.where) <= 12), default=0)
    for claim in claims:
        where = claim.where if len(claim.where) <= 12 else ""
        lines = wrapped(style.phrases.say(claim), style.width - width - 4, "")
        yield f"  {style.pen.paint(where.ljust(width), 'cyan')}  {lines[0] if lines else ''}".rstrip()
        yield from (f"  {' ' * width}  {line}" for line in lines[1:])


def _budget(result: Result, style: Style) -> Iterator[str]:
    budget = result.budget
    yield ""
    if budget is None:
        yield from (line for claim in result.budget_missing for line in wrapped(style.phrases.say(claim), style.width))
        return
    name = ", ".join(part for part in (result.subject.gpu, _version(result)) if part)
    yield f"{_heading('budget', style)}{f' ({name})' if name else ''}"
    yield from _bar(budget)
    yield from table(list(_rows(budget, style)), right=frozenset({1, 2}))
    yield from (
        f"  {line.strip()}" for claim in _after_table(result) for line in wrapped(style.phrases.say(claim), style.width)
    )


def _version(result: Result) -> str | None:
    if result.assessment is None:
        return None
    if result.versions is not None:
        return f"vLLM {result.versions[0]} … {result.versions[1]}"
    return f"vLLM {result.subject.vllm or result.assessment.config.rules.version}"


def _bar(budget: Budget) -> Iterator[str]:
    """Draw the request; parts inside it in start-up order. A budget that does not fit runs over the edge."""
    if budget.requested is None or budget.requested.value <= 0:
        return
    parts = [
        (_LETTERS[item.name], item.figure.value) for item in budget.items if item.figure is not None and item.inside
    ]
    yield f"  [{bar(parts, budget.requested.value, _BAR)}"


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
    if budget.left is not None:
        yield _row(style.phrases.text("label.left"), budget.left, style)


def _item_row(item: Item, style: Style) -> list[str]:
    label = f"{_LETTERS[item.name]} {style.phrases.text(f'label.{item.name}')}"
    if item.figure is None:
        return [label, "–"]
    row = _row(label, item.figure, style)
    return row if item.inside else [*row, f"({style.phrases.text('label.outside')})"]


def _row(label: str, figure: Figure, style: Style) -> list[str]:
    band = ""
    if figure.high - figure.low > abs(figure.value) // 50:
        band = f"{figure.low / GIB:.2f} … {figure.high / GIB:.2f}"
    origin = style.phrases.text(f"label.origin-{figure.origin}")
    return [label, style.phrases.size(figure.value), band, origin, _where(figure.where, style)]


def _where(where: str, style: Style) -> str:
    return where if style.verbose or len(where) <= _WHERE else f"{where[: _WHERE - 1]}…"


def _after_table(result: Result) -> Iterator[Claim]:
    kv = result.assessment.kv if result.assessment else None
    length = result.assessment.config.max_model_len if result.assessment else None
    if kv is not None and kv.blocks and kv.fits:
        concurrency = f"{kv.max_concurrency:.2f}"
        yield Claim("label.kv-holds", {"tokens": kv.tokens, "concurrency": concurrency, "max_model_len": length})
    elif kv is not None and kv.needed:
        sizes = {"max_model_len": length, "needed": kv.needed, "longest": kv.estimated_max_model_len}
        yield Claim("label.kv-short" if kv.estimated_max_model_len else "label.kv-none", sizes)
    elif result.budget is not None and result.budget.left is not None and _only_weights(result.budget):
        yield Claim("label.left-for-kv", {"left": result.budget.left.value})
    yield from result.budget_missing


def _only_weights(budget: Budget) -> bool:
    """Tell whether the weights are all that is known of what the engine needs."""
    return all(item.name == "weights" for item in budget.items if item.figure is not None)


def _plan(plan: Plan, style: Style) -> Iterator[str]:
    yield ""
    yield _heading("plan", style)
    if plan.best is None:
        yield from wrapped(style.phrases.text("plan.none"), style.width)
    else:
        yield from _offer(plan.best, style, number="1")
    for number, offer in enumerate(plan.alternatives, start=2):
        yield from _offer(offer, style, number=str(number))
    if plan.rejected:
        yield ""
        yield _heading("rejected", style)
        for text, codes in _grouped(plan.rejected, style).items():
            yield from wrapped(f"{', '.join(codes)}: {text}", style.width)


def _offer(offer: Offer, style: Style, number: str) -> Iterator[str]:
    name = f"{offer.remedy} {style.names.get(offer.remedy, '')}"
    safety = style.pen.paint(offer.safety, _SAFETY[offer.safety])
    yield f"  {number}. {style.pen.paint(_changes(offer, style), 'bold')}  [{name}, {safety}]"
    for claim in offer.cost:
        yield from wrapped(style.phrases.say(claim), style.width, "     ")
    yield from wrapped(_proof(offer, style), style.width, "     ")


def _changes(offer: Offer, style: Style) -> str:
    shown = [_change(change) for change in offer.changes if change.target != "manual"]
    if offer.step is not None:
        return style.phrases.say(offer.step)
    return ", ".join(shown)


def _change(change: Change) -> str:
    before = "" if change.before is None else f" (was {change.before})"
    return f"{change.target}: {change.after}{before}"


def _proof(offer: Offer, style: Style) -> str:
    if offer.proof is not None:
        summary = f": {_summary(offer.after, style)}" if offer.after is not None else ""
        return f"{style.phrases.text('plan.proven')} ({offer.proof}){summary}"
    if offer.after is not None and offer.after.outcome == "starts":
        key = {"certain": "plan.fits", "likely": "plan.likely-fits"}.get(offer.after.certainty, "plan.edge")
        return f"{style.phrases.text(key)}: {_summary(offer.after, style)}"
    if all(change.target == "manual" for change in offer.changes):
        return ""
    return style.phrases.text("plan.not-checked")


def _summary(after: Assessment, style: Style) -> str:
    parts = [
        f"{style.phrases.text(f'label.{item.name}')} {style.phrases.size(item.figure.value)}"
        for item in after.budget.items
        if item.figure is not None
    ]
    if after.kv is not None and after.kv.tokens:
        parts.append(f"{after.kv.tokens:,} tokens")
    return ", ".join(parts)


def _grouped(rejected: Sequence[Rejected], style: Style) -> dict[str, list[str]]:
    """Put remedies together that are not offered for the same reason; a cause may have a sentence of its own."""
    groups: dict[str, list[str]] = {}
    for each in rejected:
        own = f"{each.because.parameters.get('code')}.not-{each.remedy}"
        text = style.phrases.text(own) if style.phrases.has(own) else style.phrases.say(each.because)
        groups.setdefault(text, []).append(f"{each.remedy} {style.names.get(each.remedy, '')}".strip())
    return groups


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
    yield from table([[name, str(setting.value), setting.origin, setting.where] for name, setting in known])


def _heading(name: str, style: Style) -> str:
    return style.pen.paint(style.phrases.text(f"label.{name}"), "bold")
