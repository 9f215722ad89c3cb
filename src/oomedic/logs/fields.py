"""Typed access to what an event read."""

from oomedic.figure import Figure
from oomedic.logs.signatures import Event


def size(event: Event | None, name: str) -> Figure | None:
    """Return a field that is a figure of bytes, None where it was not read."""
    value = event.fields.get(name) if event else None
    return value if isinstance(value, Figure) else None


def count(event: Event | None, name: str) -> int | None:
    """Return a field that is a whole number, None where it was not read."""
    value = event.fields.get(name) if event else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def ratio(event: Event | None, name: str) -> float | None:
    """Return a field that is a number, None where it was not read."""
    value = event.fields.get(name) if event else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def text(event: Event | None, name: str) -> str | None:
    """Return a field that is text, None where it was not read."""
    value = event.fields.get(name) if event else None
    return value if isinstance(value, str) else None


def sayable(event: Event) -> dict[str, str | int | float]:
    """Return the fields of an event that a sentence can hold as they are: texts and numbers."""
    return {name: value for name, value in event.fields.items() if isinstance(value, str | int | float)}


def line_of(event: Event) -> str:
    """Point at the line of an event, or at what told it beside the log."""
    return event.where
