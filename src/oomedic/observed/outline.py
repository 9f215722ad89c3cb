"""An indented outline, as ``kubectl describe`` writes it: entries with what stands below them."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

_KEY: Final = re.compile(r"([^\s:][^:]{0,120}?):(?:\s+(.*)|$)")
_TAB: Final = 8


class Entry(NamedTuple):
    """One line of an outline: ``text`` is all of it, ``key`` and ``value`` its parts where it has a colon."""

    text: str
    key: str
    value: str
    line: int
    children: tuple["Entry", ...] = ()

    def child(self, key: str) -> "Entry | None":
        """Return the entry of that key below this one."""
        return next((entry for entry in self.children if entry.key == key), None)

    def value_of(self, key: str) -> str | None:
        """Return the value of a key below this one; ``<none>`` and ``<unset>`` are none."""
        entry = self.child(key)
        return None if entry is None or entry.value.startswith("<") or not entry.value else entry.value

    def block(self) -> list[str]:
        """Return all lines below this one, in their order, without their common indentation."""
        return [line for child in self.children for line in (child.text, *child.block())]


def outline(lines: Sequence[str], first: int = 1) -> tuple[Entry, ...]:
    """Read an outline; the first line has the number ``first``. Blank lines say nothing."""
    shown = [(_indent(line), line.strip(), number) for number, line in enumerate(lines, first) if line.strip()]
    return tuple(_entries(shown, 0, len(shown)))


def _entries(shown: Sequence[tuple[int, str, int]], start: int, end: int) -> Iterator[Entry]:
    while start < end:
        indent, text, number = shown[start]
        below = start + 1
        while below < end and shown[below][0] > indent:
            below += 1
        match = _KEY.match(text)
        key, value = (match[1], (match[2] or "").strip()) if match else ("", "")
        yield Entry(text, key, value, number, tuple(_entries(shown, start + 1, below)))
        start = below


def _indent(line: str) -> int:
    expanded = line.expandtabs(_TAB)
    return len(expanded) - len(expanded.lstrip())
