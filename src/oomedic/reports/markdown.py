"""The report for an issue, a pull request or a chat: the text report's parts under Markdown headings."""

from collections.abc import Iterator

from oomedic.memory.budget import Budget
from oomedic.planning.plan import Offer
from oomedic.reports.phrases import Phrasebook
from oomedic.result import Report, Result


def render(report: Report, phrases: Phrasebook) -> str:
    """Return the report as Markdown."""
    return "\n".join(line for result in report.results for line in _result(result, phrases)) + "\n"


def _result(result: Result, phrases: Phrasebook) -> Iterator[str]:
    findings = result.diagnosis.findings if result.diagnosis else ()
    title = f"{findings[0].code} {findings[0].name} ({findings[0].confidence})" if findings else result.outcome
    yield f"## {title}"
    yield ""
    for finding in findings:
        for claim in finding.because:
            where = f" (`{claim.where}`)" if claim.where else ""
            yield f"- {phrases.say(claim)}{where}"
    if result.diagnosis and result.diagnosis.first_error:
        yield f"- {phrases.say(result.diagnosis.first_error)}"
    if result.budget is not None:
        yield from _budget(result.budget, phrases)
    if result.plan is not None:
        yield from _plan(result, phrases)
    if result.patch is not None:
        yield from ("", "```diff", result.patch.text.rstrip("\n"), "```")
    yield ""


def _budget(budget: Budget, phrases: Phrasebook) -> Iterator[str]:
    yield from ("", f"| {phrases.text('label.budget')} | | |", "|--|--:|--|")
    rows = [
        ("requested", budget.requested),
        *((item.name, item.figure) for item in budget.items),
        ("left", budget.left),
    ]
    for name, figure in rows:
        if figure is not None:
            origin = phrases.text(f"label.origin-{figure.origin}")
            yield f"| {phrases.text(f'label.{name}')} | {phrases.size(figure.value)} | {origin} |"


def _plan(result: Result, phrases: Phrasebook) -> Iterator[str]:
    plan = result.plan
    if plan is None:
        return
    yield from ("", f"### {phrases.text('label.plan')}", "")
    offers = [offer for offer in (plan.best, *plan.alternatives) if offer is not None]
    if not offers:
        yield phrases.text("plan.none")
    for number, offer in enumerate(offers, start=1):
        yield f"{number}. {_changes(offer, phrases)} ({offer.remedy}, {offer.safety})"
    for each in plan.rejected:
        yield f"- ~~{each.remedy}~~: {phrases.say(each.because)}"


def _changes(offer: Offer, phrases: Phrasebook) -> str:
    if offer.step is not None:
        return phrases.say(offer.step)
    return ", ".join(f"`{change.target}` = `{change.after}`" for change in offer.changes)
