"""Which vLLM release an engine is: said by the user, printed, tagged, or narrowed by the wording of its log."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from oomedic.engine.rules import eras, releases
from oomedic.logs.fields import text
from oomedic.logs.signatures import Event
from oomedic.version import Version, parse_version

_PRINTED = ("engine_start", "api_server_version", "version_banner")


class Release(NamedTuple):
    """The release that the arithmetic follows.

    ``origin`` is "given", "printed", "tagged" or "narrowed"; ``possible`` are the releases that remain when none of the
    first three is known: the first of them, and those after it that begin an era.
    """

    version: Version
    origin: str
    text: str
    possible: tuple[Version, ...] = ()

    @property
    def is_known(self) -> bool:
        """Tell whether one release is meant, not a range of them."""
        return self.origin != "narrowed"


def release_of(
    given: str | None,
    events: Sequence[Event],
    tag: str | None,
    rows: Sequence[Mapping[str, Any]],
    signatures: Iterable[Mapping[str, Any]] = (),
) -> Release:
    """Return the release: what the user says wins, then what the log prints, then the image tag.

    Without any of them the releases remain that print all the lines of the log; the first of them stands for all, and
    the arithmetic is done for each.
    """
    for origin, name in (("given", given), ("printed", printed_version(events)), ("tagged", tag)):
        version = parse_version(name) if name else None
        if version is not None:
            return Release(version, origin, str(name))
    possible = _possible(events, rows, signatures)
    return Release(possible[0], "narrowed", "", possible)


def generation(events: Sequence[Event]) -> str | None:
    """Return V0 or V1 where the log shows which engine ran."""
    start = next((event for event in events if event.signature == "engine_start" and text(event, "engine")), None)
    if start is not None:
        return text(start, "engine")
    if any(event.signature in _V0_ONLY for event in events):
        return "V0"
    return "V1" if any(event.signature in _V1_ONLY for event in events) else None


_V0_ONLY = frozenset({"v0_memory_profile", "v0_memory_requested", "v0_memory_profile_sums", "kv_cache_too_small_v0"})
_V1_ONLY = frozenset({"available_kv_cache", "kv_cache_size", "kv_cache_too_small", "warm_up_out_of_memory"})


def printed_version(events: Sequence[Event]) -> str | None:
    """Return the version as the engine printed it, None where it did not."""
    for event in events:
        if event.signature in _PRINTED:
            name = text(event, "version")
            if name and parse_version(name):
                return name
    return None


def _possible(
    events: Sequence[Event], rows: Sequence[Mapping[str, Any]], signatures: Iterable[Mapping[str, Any]]
) -> tuple[Version, ...]:
    all_releases = releases(rows)
    seen = {event.signature for event in events}
    since, until = all_releases[0], all_releases[-1]
    for row in signatures:
        if row["name"] in seen:
            since = max(since, parse_version(str(row.get("since", ""))) or since)
            until = min(until, parse_version(str(row.get("until", ""))) or until)
    first = [release for release in all_releases if release <= since][-1]
    return (first, *(release for release, _ in eras(rows) if first < release <= until))
