"""What the hub answered: of several lines about one answer, the one in its client's own words."""

from collections.abc import Container

from oomedic.evidence import Evidence
from oomedic.logs.fields import count, text
from oomedic.logs.signatures import Event
from oomedic.symptoms.failures import start_failure


def told_by_hub(evidence: Evidence, statuses: Container[int]) -> Event | None:
    """Return the hub's answer with one of these HTTP statuses, None when there is none or the start went on.

    The HTTP library tells of it first, with the address; the hub's client tells it again with what it means, and
    without the address on that line.
    """
    if start_failure(evidence, "hub_status") is None:
        return None
    answers = [event for event in evidence.all("hub_status") if count(event, "status") in statuses]
    meant = (event for event in answers if text(event, "model") is None)
    return next(meant, None) or next(iter(answers), None)
