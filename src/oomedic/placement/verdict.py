"""Will the engine start on each card that its pod may get?"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from oomedic.errors import OomedicError
from oomedic.gpu import Gpu
from oomedic.memory.assessment import Assessment
from oomedic.placement.landing import Landing


class CardVerdict(NamedTuple):
    """One card that the pod may get. ``assessment`` is None where it could not be computed."""

    landing: Landing
    assessment: Assessment | None

    @property
    def fails(self) -> bool:
        """Tell whether the engine dies on this card."""
        return self.assessment is not None and self.assessment.outcome == "crashes"


def verdicts(landed: Iterable[Landing], assess_on: Callable[[Gpu], Assessment | None]) -> tuple[CardVerdict, ...]:
    """Return a verdict for each card, those on which it fails first.

    Args:
        landed: as ``landings`` returned them.
        assess_on: assesses the engine with the defaults that it has on a card.
    """
    found = [CardVerdict(landing, _assessed(landing.gpu, assess_on)) for landing in landed]
    return tuple(sorted(found, key=lambda verdict: not verdict.fails))


def _assessed(gpu: Gpu, assess_on: Callable[[Gpu], Assessment | None]) -> Assessment | None:
    try:
        return assess_on(gpu)
    except OomedicError:
        return None
