"""Several lives of a container in one log, taken apart.

``kubectl logs`` of a file that was appended to, a log store, or both ``--previous`` and current logs in one file hold
several starts. A life begins where a start banner comes again after the life before got further than its banner.
Processes of one life print some lines several times (the platform, the version of an engine), each rank its own; they
begin nothing.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from oomedic.logs.signatures import Event

_BANNERS: Final = frozenset(("api_server_version", "version_banner"))
_WITHOUT_SERVER: Final = frozenset(("non_default_args", "server_args", "engine_start"))
_BEFORE_BANNER: Final = frozenset(
    ("platform_detected", "platform_plugin", "platform_missing", "command_line", "nim_start", "cpu_kv_space_defaulted")
)
_BAD_COMMAND_LINE: Final = frozenset(("arguments_unrecognized", "argument_invalid"))
_FAILED: Final = frozenset(("error", "wrapper", "generic"))
_EARLY: Final = frozenset((None, "config_validation", "nccl_init"))


def split_lives(events: Iterable[Event]) -> Iterator[tuple[Event, ...]]:
    """Take the events of a log apart by the lives of the container, in their order; none gives no life.

    Only one life is held at a time: a log may hold any number of them.
    """
    life: list[Event] = []
    for event in events:
        if life and _begins(event, life):
            following = _preamble(life)
            yield tuple(life)
            life = following
        life.append(event)
    if life:
        yield tuple(life)


def _begins(event: Event, life: list[Event]) -> bool:
    """Say whether an event begins another life than the one that is told so far."""
    if event.kind != "setting" and event.signature not in _BAD_COMMAND_LINE:
        return False
    told = {earlier.signature for earlier in life}
    if event.signature in _BANNERS:
        return event.signature in told or any(map(_is_further, life))
    if event.signature in _BAD_COMMAND_LINE:  # refused before any banner, and the end of its life
        return bool(told & _BANNERS) or any(map(_is_further, life))
    if event.kind == "setting" and told & _BAD_COMMAND_LINE:
        return True
    return event.signature in _WITHOUT_SERVER and not told & _BANNERS and _came_again(event, life)


def _came_again(event: Event, life: list[Event]) -> bool:
    """Say whether the same process printed the same before, and something happened since."""
    places = [
        place
        for place, earlier in enumerate(life)
        if earlier.signature == event.signature and earlier.rank == event.rank
    ]
    return bool(places) and any(map(_is_further, life[places[0] :]))


def _is_further(event: Event) -> bool:
    """Say whether a life that has this event got further than its banner."""
    return event.kind in _FAILED or event.reached not in _EARLY or event.signature == "engine_start"


def _preamble(life: list[Event]) -> list[Event]:
    """Take from the end of a life what is printed before the banner of the next, each kind of line once."""
    taken: list[Event] = []
    while len(life) > 1 and life[-1].signature in _BEFORE_BANNER - {event.signature for event in taken}:
        taken.insert(0, life.pop())
    return taken
