"""Where a pod could land, and how it gets to another machine, for people."""

from collections.abc import Iterator
from typing import Final

from oomedic.patches.patching import move_patches
from oomedic.placement.placing import Placement
from oomedic.placement.verdict import CardVerdict
from oomedic.planning.plan import Plan
from oomedic.reports.draw import Pen, table, wrapped
from oomedic.reports.phrases import Phrasebook

_SHOWN: Final = 3


def placement_lines(placement: Placement, phrases: Phrasebook, pen: Pen, width: int) -> Iterator[str]:
    """Yield a table with a verdict for each card, and why pools give no node."""
    yield pen.paint(phrases.text("placement.heading"), "bold")
    yield from table([_row(verdict, phrases) for verdict in placement.verdicts])
    for closed in placement.closed:
        yield from wrapped(phrases.say(closed.because), width)


def move_lines(plan: Plan, phrases: Phrasebook, pen: Pen, width: int) -> Iterator[str]:
    """Yield the first way to the first machine that is offered, where it is not the plan's own change."""
    offers = [offer for offer in (plan.best, *plan.alternatives) if offer is not None and offer.moves]
    if not offers or offers[0].instance is None:
        return
    first, *others = offers[0].moves
    yield pen.paint(phrases.text("move.heading", instance=offers[0].instance.type), "bold")
    for remark in first.remarks:
        yield from wrapped(phrases.say(remark), width)
    if others:
        ways = ", ".join(phrases.text(f"move.way-{move.way}") for move in others)
        yield from wrapped(phrases.text("move.also", ways=ways), width)
    for patch in move_patches(first):
        if patch.format == "manifest":
            yield pen.paint(f"# {patch.path}", "dim")
        for line in patch.text.splitlines():
            new = patch.format == "manifest" or line.startswith("+")
            yield pen.paint(line, "green" if new else "red" if line.startswith("-") else "dim")


def _row(verdict: CardVerdict, phrases: Phrasebook) -> list[str]:
    landing, assessment = verdict.landing, verdict.assessment
    outcome = assessment.outcome if assessment else "unknown"
    types = [instance.type for instance in landing.instances]
    more = f" … +{len(types) - _SHOWN}" if len(types) > _SHOWN else ""
    return [
        landing.gpu.name,
        phrases.size(landing.gpu.memory.value),
        phrases.text(f"placement.{outcome}", phase=assessment.phase if assessment else None),
        ", ".join(types[:_SHOWN]) + more,
        ", ".join(landing.pools),
    ]
