"""Comments that silence findings: ``# oomedic: ignore[CODE] reason``.

A comment counts for its own line; one that stands alone counts for the next line that is neither empty nor a comment.
Without a code or a reason it silences nothing and is told itself; so is one that nothing needs any more.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from oomedic.claim import Claim, claim
from oomedic.lint.verdict import Place, Silenced, Told

_COMMENT: Final = re.compile(r"#[ \t]*oomedic:[ \t]*ignore(?:\[([^\]\n]*)\])?[ \t]*([^\n\r]*)")
_MARK: Final = "oomedic:"
_WITHOUT_REASON: Final = ("LINT201", "ignore-without-reason")
_UNUSED: Final = ("LINT202", "ignore-unused")


class Ignore(NamedTuple):
    """One comment: where it stands, the line that it is for, the codes that it names, and why."""

    place: Place
    line: int
    codes: tuple[str, ...]
    reason: str


def ignores_in(text: str, path: str) -> tuple[Ignore, ...]:
    """Return the comments of one file."""
    if _MARK not in text:
        return ()
    lines = text.split("\n")
    return tuple(_ignore(lines, number, match, path) for number, match in _matches(lines))


def silenced(told: Iterable[Told], ignores: Sequence[Ignore]) -> tuple[Told, ...]:
    """Mark the findings that comments silence, and add what is to be said of comments."""
    marked: list[Told] = []
    used: set[Ignore] = set()
    valid = [ignore for ignore in ignores if ignore.codes and ignore.reason]
    for each in told:
        found = next((ignore for ignore in valid if _covers(ignore, each)), None)
        if found is not None:
            used.add(found)
            each = each._replace(silenced=Silenced("comment", found.reason))  # noqa: PLW2901 - the same finding, marked
        marked.append(each)
    return (*marked, *(_about(ignore) for ignore in ignores if ignore not in used))


def _matches(lines: Sequence[str]) -> Iterator[tuple[int, re.Match[str]]]:
    for number, line in enumerate(lines):
        match = _COMMENT.search(line) if _MARK in line else None
        if match is not None:
            yield number, match


def _ignore(lines: Sequence[str], number: int, match: re.Match[str], path: str) -> Ignore:
    meant = number
    if not lines[number][: match.start()].strip():
        following = (at for at in range(number + 1, len(lines)) if lines[at].split("#", 1)[0].strip())
        meant = next(following, number)
    codes = tuple(code.strip().upper() for code in (match[1] or "").split(",") if code.strip())
    place = Place(path, number + 1, match.start() + 1, number + 1, match.end() + 1, f"ignore[{','.join(codes)}]")
    return Ignore(place, meant + 1, codes, match[2].strip())


def _covers(ignore: Ignore, told: Told) -> bool:
    place = told.place
    return ignore.place.path == place.path and ignore.line == place.line and told.code in ignore.codes


def _about(ignore: Ignore) -> Told:
    """Return what is to be said of a comment that silences nothing."""
    if ignore.codes and ignore.reason:
        return _told(_UNUSED, "possible", claim("LINT202.unused", codes=", ".join(ignore.codes)), ignore)
    return _told(_WITHOUT_REASON, "likely", claim("LINT201.reason" if ignore.codes else "LINT201.code"), ignore)


def _told(kind: tuple[str, str], confidence: str, said: Claim, ignore: Ignore) -> Told:
    sure = "likely" if confidence == "likely" else "possible"
    return Told(*kind, sure, (said,), ignore.place, "")  # type: ignore[arg-type]  # two of the three words
