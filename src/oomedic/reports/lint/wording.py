"""What the formats of lint have in common: one finding in words."""

from collections.abc import Iterator

from oomedic.lint.verdict import Linted, Place, Told
from oomedic.planning.plan import Offer
from oomedic.reports.phrases import Phrasebook
from oomedic.reports.wording import changes

_SHOWN = 3


def title(told: Told) -> str:
    """Return code and name."""
    return f"{told.code} {told.name}"


def place(where: Place) -> str:
    """Return a place as editors and terminals understand it."""
    return f"{where.path}:{where.line}:{where.column}"


def because(told: Told, phrases: Phrasebook) -> Iterator[str]:
    """Yield the evidence: which engine on which cards, and why."""
    for number, said in enumerate(told.because):
        text = phrases.say(said)
        if number == 0 and told.gpus:
            name = "lint.on-cards" if told.possible > 1 else "lint.on-card"
            text = phrases.text(name, gpus=told.gpus, number=len(told.gpus), possible=told.possible, says=text)
        yield text


def message(told: Told, phrases: Phrasebook) -> str:
    """Return everything that is to be said of a finding in one paragraph."""
    unit = f"{told.unit}: " if told.unit else ""
    return unit + " ".join([*because(told, phrases), *helps(told, phrases)])


def helps(told: Told, phrases: Phrasebook) -> Iterator[str]:
    """Yield what helps: the smallest change, and the cards on which nothing has to change."""
    if told.offer is not None:
        yield help_of(told.offer, phrases)
    if told.fits:
        yield phrases.text("lint.fits", gpus=told.fits)


def help_of(offer: Offer, phrases: Phrasebook) -> str:
    """Return the smallest change that helps, or what a person must do."""
    what = changes(offer, phrases) if offer.step is None else phrases.say(offer.step).rstrip(".")
    return phrases.text("lint.helps", what=what, remedy=offer.remedy)


def remarks(found: Linted, phrases: Phrasebook) -> Iterator[str]:
    """Yield what was not judged and why, each reason once."""
    for each in found.remarks:
        shown = ", ".join(each.units[:_SHOWN])
        more = phrases.text("lint.and-more", number=len(each.units) - _SHOWN) if len(each.units) > _SHOWN else ""
        yield phrases.text("lint.about", says=phrases.say(each.said), units=f"{shown}{more}")
    for error in found.skipped:
        yield phrases.text("lint.skipped", says=" ".join(phrases.error(error)))


def summary(found: Linted, phrases: Phrasebook) -> str:
    """Return how much was looked at and what it came to."""
    engines = len(found.judged)
    if not engines and not found.told:
        return phrases.text("lint.no-engine", files=found.files)
    counting = len(found.counting)
    known = sum(each.silenced is not None for each in found.told)
    parts = [phrases.text("lint.summary", findings=counting, engines=engines, files=found.files)]
    if known:
        parts.append(phrases.text("lint.silenced", number=known))
    if found.left:
        parts.append(phrases.text("lint.left", number=found.left))
    return " ".join(parts)
