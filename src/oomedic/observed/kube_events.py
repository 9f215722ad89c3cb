"""Kubernetes events: as objects, and as rows of ``kubectl get events``, ``kubectl events`` and ``kubectl describe``."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from oomedic.observed.facts import Happening
from oomedic.observed.leaves import at, text

_GAP: Final = re.compile(r"\s{2,}|\t")
_TYPES: Final = frozenset(("Normal", "Warning"))
_HEADERS: Final = ("TYPE", "REASON", "OBJECT", "MESSAGE")


def happening(tree: Mapping[str, Any], where: str) -> Happening:
    """Read an Event object of either API: core/v1 has ``message``, events.k8s.io/v1 ``note``."""
    about = at(tree, "involvedObject") or at(tree, "regarding")
    name = f"{text(about, 'kind') or ''}/{text(about, 'name') or ''}"
    return Happening(
        text(tree, "type") or "Normal",
        text(tree, "reason") or "",
        text(tree, "message") or text(tree, "note") or "",
        f"{where}message" if "message" in tree else f"{where}note",
        name.strip("/") or None,
        text(at(tree, "source"), "component") or text(tree, "reportingComponent") or text(tree, "reportingController"),
    )


def read_events_table(lines: Sequence[str], path: str) -> tuple[Happening, ...]:
    """Read the lines of a table of events; what is no row of one is passed over."""
    return tuple(_rows(lines, path, first=1))


def rows_of_description(lines: Sequence[str], path: str, first: int) -> tuple[Happening, ...]:
    """Read the events at the end of a description, whose first line is the ``first``-th of its file."""
    return tuple(_rows(lines, path, first))


def is_row(line: str) -> bool:
    """Tell whether a line is a row of a table of events."""
    return _type_at(_GAP.split(line.strip())) is not None


def is_header(line: str) -> bool:
    """Tell whether a line heads the table of ``kubectl get events``."""
    return all(header in line for header in _HEADERS)


def _rows(lines: Sequence[str], path: str, first: int) -> Iterator[Happening]:
    wide: tuple[int, int] | None = None
    for number, line in enumerate(lines, first):
        if is_header(line):
            wide = _place_of_message(line)
            continue
        cells = _GAP.split(line.strip())
        place = _type_at(cells)
        if place is None:
            continue
        where = f"{path}:{number}"
        message = line[wide[0] : wide[1]].strip() if wide else None
        yield _row(cells, place, where, message)


def _type_at(cells: Sequence[str]) -> int | None:
    """Return the number of the cell that holds the type: the first three may be namespace, age and it."""
    return next((place for place, cell in enumerate(cells[:3]) if cell in _TYPES and place + 1 < len(cells)), None)


def _place_of_message(header: str) -> tuple[int, int] | None:
    """Return the columns of the message where others follow it (``-o wide``); None where it is the last."""
    begin = header.index("MESSAGE")
    following = header.find("FIRST SEEN", begin)
    return (begin, following) if following >= 0 else None


def _row(cells: Sequence[str], place: int, where: str, message: str | None) -> Happening:
    kind, reason, *rest = cells[place:]
    if place:  # kubectl get events: OBJECT MESSAGE
        about, said = (rest[0] if rest else None), "  ".join(rest[1:])
        return Happening(kind, reason, message or said, where, about)
    _, source, *words = [*rest, "", ""][: max(2, len(rest))]  # kubectl describe: AGE FROM MESSAGE
    return Happening(kind, reason, "  ".join(words).strip(), where, None, source or None)
