"""Where the engine was when an error was printed: traceback frames around it, else the last mark that it passed."""

from collections.abc import Sequence
from typing import Final

from oomedic.logs.signatures import Event
from oomedic.phase_order import ORDER

_TRACEBACK: Final = 120
"""A traceback of the engine, with its repetitions in outer processes, is rarely longer."""


def phase_at(event: Event, events: Sequence[Event]) -> str | None:
    """Return the phase in which an error was printed, None when the log does not tell."""
    framed = frame_phase(event, events)
    return framed or last_mark(event, events)


def frame_phase(event: Event, events: Sequence[Event]) -> str | None:
    """Return the phase that the frames of the error's own traceback prove.

    A frame that only start-up passes through outranks what it calls: a sampler inside the profile run belongs to it.
    """
    phases = {frame.phase for frame in frames_of(event, events)}
    for phase in ("profile_run", "kv_alloc", "graph_capture", "sampler_warmup", "weights_load", "runtime"):
        if phase in phases:
            return phase
    return None


def frames_of(event: Event, events: Sequence[Event]) -> tuple[Event, ...]:
    """Return the traceback frames of an error: those of its rank since the last mark, before it or right behind it."""
    marks = [mark.line for mark in events if mark.reached and mark.line < event.line and _same_rank(mark, event)]
    since = max([event.line - _TRACEBACK, *marks])
    until = event.line + _TRACEBACK
    found = [frame for frame in events if frame.kind == "frame" and _same_rank(frame, event)]
    before = tuple(frame for frame in found if since <= frame.line <= event.line)
    return before or tuple(frame for frame in found if event.line < frame.line <= until)


def last_mark(event: Event, events: Sequence[Event]) -> str | None:
    """Return the phase that the last mark before the error leads to: of its own rank, else of any."""
    marks = [mark for mark in events if mark.reached and mark.line <= event.line]
    own = [mark for mark in marks if mark.rank == event.rank]
    chosen = own or marks
    if not chosen:
        return None
    latest = max(marks, key=lambda mark: mark.line)
    furthest = max((chosen[-1], latest), key=lambda mark: _index(mark.reached))
    return furthest.reached


def furthest(events: Sequence[Event]) -> str | None:
    """Return the furthest phase that any mark of the log reached."""
    reached = [mark.reached for mark in events if mark.reached]
    return max(reached, key=_index, default=None)


def got_past_loading(events: Sequence[Event]) -> bool:
    """Tell whether a log shows that the weights were loaded: a later mark, an error or a frame of later phases."""
    loading = ORDER.index("weights_load")
    phases = [event.reached for event in events] + [event.phase for event in events if event.kind in {"error", "frame"}]
    return any(_index(phase) > loading for phase in phases)


def _same_rank(one: Event, other: Event) -> bool:
    return one.rank == other.rank or one.rank is None or other.rank is None


def _index(phase: str | None) -> int:
    return ORDER.index(phase) if phase in ORDER else -1
