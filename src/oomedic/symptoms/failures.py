"""Which printed errors ended a life, and which it only passed by: warnings, retries, lines about single requests."""

from collections.abc import Iterable
from typing import Final

from oomedic.evidence import Evidence
from oomedic.logs.signatures import Event
from oomedic.phase_order import ORDER

_READY: Final = "server_ready"
_NOISE: Final = frozenset({"objects_leaked"})
WEAK: Final = frozenset(
    (
        *("hub_status", "hub_unreachable", "hub_rate_limited", "hub_offline"),
        *("file_missing", "permission_denied", "package_missing", "json_unreadable"),
        *("process_limit_reached", "peer_connection_lost", "collective_timeout", "nccl_error", "segmentation_fault"),
        "ray_worker_vanished",
    )
)
"""Errors that are printed for other reasons too, or follow from another one: an error that says more outweighs them."""
_REPEATED: Final = 2
_TRACEBACK: Final = 150


def start_failure(evidence: Evidence, *signatures: str) -> Event | None:
    """Return the first event of these signatures that the start did not survive, None when there is none.

    Once a server is ready such lines concern single requests; and what a process prints before it gets further was no
    more than a warning.
    """
    if evidence.first(_READY) is not None:
        return None
    return next((event for event in evidence.all(*signatures) if not _survived(evidence, event)), None)


def failure(evidence: Evidence, *signatures: str) -> Event | None:
    """Return the first event of these signatures that a start did not survive, or of which a serving engine died."""
    ready = evidence.first(_READY)
    if ready is None:
        return start_failure(evidence, *signatures)
    if _death(evidence, ready) is None:
        return None
    return next((event for event in evidence.all(*signatures) if event.line > ready.line), None)


def fatal_error(evidence: Evidence) -> Event | None:
    """Return the error of which a serving engine died, where no signature knows it; None where it lives or one does."""
    ready = evidence.first(_READY)
    death = None if ready is None else _death(evidence, ready)
    if death is None:
        return None
    near = [event for event in evidence.events if abs(event.line - death.line) < _TRACEBACK]
    if any(event.kind == "error" for event in near):
        return None
    errors = [event for event in near if event.signature == "python_error" and event.rank == death.rank]
    below = (event for event in errors if event.line > death.line)
    return next(below, errors[-1] if errors else None)


def outweighed(evidence: Evidence, event: Event, consequences: Iterable[str] = ()) -> bool:
    """Tell whether another error says more than this one.

    Args:
        evidence: of the life.
        event: the error at hand.
        consequences: signatures that follow from it and are no causes of their own.
    """
    passed_over = {event.signature, *consequences} | WEAK
    return any(other.kind == "error" and other.signature not in passed_over for other in evidence.events)


def missing_key(evidence: Evidence, frame: str) -> Event | None:
    """Return the KeyError of a traceback that passes a frame, where the log ends before a sentence explains it."""
    passed, error = evidence.first(frame), evidence.first("python_error")
    if passed is None or error is None or error.line < passed.line or error.fields.get("exception") != "KeyError":
        return None
    return error


def raised(evidence: Evidence, event: Event) -> bool:
    """Tell whether an error stands in a traceback of its process, not in a warning."""
    starts = [other.line for other in evidence.all("traceback_start") if other.rank == event.rank]
    return any(event.line - _TRACEBACK < line < event.line for line in starts)


def spoken(evidence: Evidence, event: Event) -> Event:
    """Return the message itself, where an event is the source line of a traceback right above it."""
    later = (other for other in evidence.all(event.signature) if other.rank == event.rank)
    return next((other for other in later if 0 < other.line - event.line <= _REPEATED), event)


def _death(evidence: Evidence, ready: Event) -> Event | None:
    """Return the first line that tells of the death of an engine between its start and an orderly stop."""
    stopped = next((event.line for event in evidence.all("server_stopped")), float("inf"))
    deaths = (event for event in evidence.events if event.kind == "wrapper" and event.signature not in _NOISE)
    return next((event for event in deaths if ready.line < event.line < stopped), None)


def _survived(evidence: Evidence, event: Event) -> bool:
    """Tell whether the process that printed an error got further afterwards."""
    before = [_index(mark.reached) for mark in evidence.events if mark.reached and mark.line < event.line]
    furthest = max([0, *before])
    return any(
        _index(mark.reached) > furthest and _goes_on(mark, event, furthest)
        for mark in evidence.events
        if mark.reached and mark.line > event.line and not _reports(mark, event)
    )


def _reports(mark: Event, event: Event) -> bool:
    """Tell whether a mark is only what an outer process prints about an error right before it."""
    return mark.kind == "wrapper" and mark.line - event.line < _TRACEBACK


def _goes_on(mark: Event, event: Event, furthest: int) -> bool:
    """Tell whether a mark is of the process of an event, or of an engine that the server started after it."""
    return furthest == 0 or mark.rank == event.rank or mark.rank is None or event.rank is None


def _index(phase: str | None) -> int:
    return ORDER.index(phase) if phase in ORDER else -1
