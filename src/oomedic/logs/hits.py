"""Where in a stream of bytes the literals of the signatures stand.

All literals are searched in one pass (docs/adr: Aho-Corasick); Python looks only at the lines that hold one. Memory
stays bounded whatever the length of the log or of a line: of a line longer than ``WINDOW`` on either side of a literal
only that window is seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ahocorasick_rs import BytesAhoCorasick

WINDOW: Final = 64 * 1024
"""Bytes of one line that are looked at, before and after a literal."""

_BLOCK: Final = 1 << 20
_MARGIN: Final = 2 * WINDOW
_NEAR: Final = 4 * 1024


class Hit(NamedTuple):
    """A line that holds at least one literal.

    ``number`` counts from 1; ``start`` and ``end`` bound the line, or its window, in ``buffer``, which also holds
    the lines around it.
    """

    number: int
    buffer: bytes
    start: int
    end: int
    literals: frozenset[int]

    @property
    def raw(self) -> bytes:
        """The bytes of the line."""
        return self.buffer[self.start : self.end]

    def alone(self) -> Hit:
        """Return the same hit with a small buffer of its own, to be kept while the log goes on."""
        low = max(0, self.start - _NEAR)
        return self._replace(buffer=self.buffer[low : self.end + _NEAR], start=self.start - low, end=self.end - low)

    def following(self, count: int) -> list[bytes]:
        """Return up to ``count`` lines after this one."""
        found: list[bytes] = []
        start = self.buffer.find(b"\n", self.end, self.end + WINDOW) + 1
        while start and start < len(self.buffer) and len(found) < count:
            end = self.buffer.find(b"\n", start, start + WINDOW)
            found.append(self.buffer[start : end if end >= 0 else start + WINDOW])
            start = end + 1
        return found

    def preceding(self, count: int) -> list[bytes]:
        """Return up to ``count`` lines before this one, in their order."""
        found: list[bytes] = []
        end = self.start - 1
        while end > 0 and len(found) < count:
            start = self.buffer.rfind(b"\n", max(0, end - WINDOW), end)
            found.insert(0, self.buffer[max(start + 1, end - WINDOW) : end])
            end = start
        return found


def hits(chunks: Iterable[bytes], automaton: BytesAhoCorasick) -> Iterator[Hit]:
    """Find the lines that hold a literal, in their order."""
    buffer, done, newlines = b"", 0, 0
    for block in _blocks(chunks):
        buffer += block
        limit = _settled(buffer, done)
        if limit > done:
            yield from _hits_between(buffer, done, limit, automaton, newlines + 1)
            newlines += buffer.count(b"\n", done, limit)
            keep = max(0, limit - _MARGIN)
            buffer, done = buffer[keep:], limit - keep
    yield from _hits_between(buffer, done, len(buffer), automaton, newlines + 1)


def _blocks(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Gather small chunks, so that the search is called rarely."""
    gathered: list[bytes] = []
    size = 0
    for chunk in chunks:
        gathered.append(chunk)
        size += len(chunk)
        if size >= _BLOCK:
            yield b"".join(gathered)
            gathered, size = [], 0
    yield b"".join(gathered)


def _settled(buffer: bytes, done: int) -> int:
    """Say up to where the lines that follow are already known: the end of a line where there is one."""
    limit = len(buffer) - _MARGIN
    return max(done, buffer.rfind(b"\n", max(done, 0), limit) + 1 or limit) if limit > done else done


def _hits_between(buffer: bytes, start: int, limit: int, automaton: BytesAhoCorasick, number: int) -> Iterator[Hit]:
    """Find the lines whose literals begin from ``start`` to ``limit``; the line at ``start`` is the ``number``-th."""
    reach = min(len(buffer), limit + 1024)
    found = automaton.find_matches_as_indexes(memoryview(buffer)[start:reach], overlapping=True)
    counted = start
    line_start = line_end = together = -1
    literals: set[int] = set()
    for literal, begin, end in found:
        begin, end = begin + start, end + start  # noqa: PLW2901 - places in the whole buffer
        if begin >= limit:
            continue
        if together < end:
            if literals:
                yield Hit(number, buffer, line_start, line_end, frozenset(literals))
            line_start, line_end, together = _line_around(buffer, begin, end)
            number += buffer.count(b"\n", counted, begin)
            counted, literals = begin, set()
        literals.add(literal)
    if literals:
        yield Hit(number, buffer, line_start, line_end, frozenset(literals))


def _line_around(buffer: bytes, begin: int, end: int) -> tuple[int, int, int]:
    """Bound the line of a literal, and say up to where further literals are looked at together with it."""
    low, high = max(0, begin - WINDOW), min(len(buffer), end + WINDOW)
    newline = buffer.find(b"\n", end, high)
    start = max(low, buffer.rfind(b"\n", low, begin) + 1)
    if newline >= 0 or high == len(buffer):
        stop = newline if newline >= 0 else high
        return start, stop, stop
    return start, high, high - WINDOW // 2
