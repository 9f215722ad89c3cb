"""The report for an issue, a pull request or a chat: the text report's parts under Markdown headings."""

from collections.abc import Iterator, Mapping

from oomedic.claim import Claim
from oomedic.memory.budget import Budget
from oomedic.planning.plan import Plan
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


def render(report: Report, phrases: Phrasebook, names: Mapping[str, str]) -> str:
    """Return the report as Markdown; ``names`` are those of remedies by their codes."""
    many = len(report.results) > 1
    return "\n".join(line for result in report.results for line in _result(result, phrases, names, many=many)) + "\n"


def _result(result: Result, phrases: Phrasebook, names: Mapping[str, str], *, many: bool) -> Iterator[str]:
    yield from _headline(result, phrases, many=many)
    yield from _evidence(result, phrases)
    yield from _list("notes", result.notes, phrases)
    if result.budget is not None:
        yield from _budget(result.budget, f"{phrases.text('label.budget')}{card_and_version(result)}", phrases)
    yield from _sentences(beside_the_budget(result), phrases)
    if result.plan is not None:
        yield from _plan(result.plan, phrases, names)
    if result.patch is not None:
        yield from ("", f"### {phrases.text('label.patch')}", "", "```diff", result.patch.text.rstrip("\n"), "```")
    yield from _missing(result, phrases)
    yield ""


def _headline(result: Result, phrases: Phrasebook, *, many: bool) -> Iterator[str]:
    about = f"{_escaped(subject(result, phrases))}: " if many else ""
    findings = result.diagnosis.findings if result.diagnosis else ()
    if findings:
        first = findings[0]
        yield f"## {about}{first.code} {first.name} ({phrases.text(f'label.confidence-{first.confidence}')})"
        yield from ("", phrases.say(first.because[0]))
        return
    says = [phrases.say(claim) for claim in without_finding(result)]
    yield f"## {about}{says[0]}"
    for text in says[1:]:
        yield from ("", _escaped(text))


def _evidence(result: Result, phrases: Phrasebook) -> Iterator[str]:
    findings = result.diagnosis.findings if result.diagnosis else ()
    if not findings:
        return
    first, *others = findings
    yield from _list("evidence", evidence(first), phrases)
    if others:
        yield from ("", f"### {phrases.text('label.also')}", "")
    for each in others:
        confidence = phrases.text(f"label.confidence-{each.confidence}")
        yield f"- {each.code} {each.name} ({confidence}): {_said(each.because[0], phrases)}"


def _list(heading: str, claims: tuple[Claim, ...], phrases: Phrasebook) -> Iterator[str]:
    if claims:
        yield from ("", f"### {phrases.text(f'label.{heading}')}", "")
        yield from (f"- {_said(claim, phrases)}" for claim in claims)


def _said(claim: Claim, phrases: Phrasebook) -> str:
    where = f" (`{phrases.named(claim.where)}`)" if claim.where else ""
    return f"{_escaped(phrases.say(claim))}{where}"


def _budget(budget: Budget, title: str, phrases: Phrasebook) -> Iterator[str]:
    yield from ("", f"| {_escaped(title)} | | |", "|--|--:|--|")
    rows = [
        *(("total", budget.total), ("free_at_start", budget.free_at_start), ("requested", budget.requested)),
        *((item.name, item.figure) for item in budget.items),
        ("encoder", budget.encoder),
        ("left", budget.left),
    ]
    outside = {item.name for item in budget.items if not item.inside}
    for name, figure in rows:
        if figure is not None:
            label = phrases.text(f"label.{name}") + (r" \*" if name in outside else "")
            origin = phrases.text(f"label.origin-{figure.origin}")
            yield f"| {label} | {phrases.size(figure.value)} | {origin} |"


def _sentences(claims: Iterator[Claim], phrases: Phrasebook) -> Iterator[str]:
    for claim in claims:
        yield from ("", _escaped(phrases.say(claim)))


def _plan(plan: Plan, phrases: Phrasebook, names: Mapping[str, str]) -> Iterator[str]:
    yield from ("", f"### {phrases.text('label.plan')}", "")
    offers = [offer for offer in (plan.best, *plan.alternatives) if offer is not None]
    if not offers:
        yield phrases.text("plan.none")
    for number, offer in enumerate(offers, start=1):
        safety = phrases.text(f"label.safety-{offer.safety}")
        yield f"{number}. **{_escaped(changes(offer, phrases))}** ({offer.remedy}, {safety})"
        says = [*(phrases.say(claim) for claim in offer.cost), proof(offer, phrases)]
        yield from (f"   {_escaped(text)}" for text in says if text)
    if plan.rejected:
        yield from ("", f"### {phrases.text('label.rejected')}", "")
    for text, codes in grouped(plan.rejected, phrases, names).items():
        yield f"- {', '.join(codes)}: {text}"


def _missing(result: Result, phrases: Phrasebook) -> Iterator[str]:
    if result.diagnosis is None or not result.diagnosis.missing:
        return
    yield from ("", f"### {phrases.text('label.missing')}", "")
    for each in result.diagnosis.missing:
        yield f"- {phrases.say(each.what)} `{phrases.say(each.how)}`"


def _escaped(text: str) -> str:
    """Keep words with underscores and stars, pipes and tags as they are written."""
    for sign in ("\\", "*", "_", "<", "|"):
        text = text.replace(sign, f"\\{sign}")
    return text
