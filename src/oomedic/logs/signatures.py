"""Reads log lines into events.

A signature is a recognisable log line: one TOML file in ``data/signatures``, no Python. Its literals (``contains``) are
searched first, all of all signatures in one pass; the patterns see only the lines that hold one: the text without
wrappers (see ``logtext``), or several lines where a console broke the message.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, Final, NamedTuple

from oomedic.logs.hits import Hit, hits
from oomedic.logs.order import oldest_first
from oomedic.logs.records import one_record_per_line
from oomedic.logs.signature import Field, Kind, Match, Signature, is_complete, match, signature_of, typed
from oomedic.logs.text import Line, continues, goes_on, lines, to_utf8
from oomedic.redaction import redact

__all__ = ["Event", "Field", "Kind", "Signature", "Signatures"]

_QUOTE: Final = 300
_FOLLOWING: Final = 4
_FOLLOWING_A_SETTING: Final = 40
_PRECEDING: Final = 2
_CONSOLE: Final = 300
_LOUD: Final = 1000
_LAST: Final = 3
_NEVER_BROKEN: Final = frozenset(("frame", "generic"))


class Event(NamedTuple):
    """One occurrence of a signature.

    ``line`` counts from 1; ``rank`` names the process that printed it; ``reached`` is the phase that the engine is in
    after it, where it tells; ``quote`` is what matched, at most 300 characters, redacted. ``source`` points at what
    told it where that was no log ("pod.yaml:status.reason").
    """

    signature: str
    kind: Kind
    phase: str
    reached: str | None
    fields: Mapping[str, Field]
    line: int
    rank: str | None
    quote: str
    source: str | None = None

    @property
    def where(self) -> str:
        """Point at the line, or at what told it."""
        return self.source or f"log:{self.line}"


class _Text(NamedTuple):
    """One line, or several that a console broke, as one text; ``starts`` tells where each line begins in it."""

    text: str
    rank: str | None
    number: int
    starts: tuple[int, ...] = (0,)

    def line_of(self, place: int) -> int:
        return self.number + sum(start <= place for start in self.starts) - 1


class Signatures:
    """All signatures, ready to read logs."""

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Take the tables of the signature files, each with its ``name``."""
        from ahocorasick_rs import BytesAhoCorasick  # only where a log is read

        self.signatures = tuple(sorted(map(signature_of, rows), key=lambda signature: signature.kind == "generic"))
        owners: dict[str, list[int]] = {}
        for index, signature in enumerate(self.signatures):
            for literal in signature.contains:
                owners.setdefault(literal, []).append(index)
        self._owners = tuple(owners.values())
        self._automaton = BytesAhoCorasick([literal.encode() for literal in owners])

    def read(self, chunks: Iterable[bytes]) -> Iterator[Event]:
        """Read a log, in chunks of any size, into its events, in the order of its lines.

        Where a line repeats itself more than a thousand times (statistics of a server that runs for days), only the
        last ones before something else is told are reported, until a line of kind ``setting``: every start prints some.
        """
        said: dict[frozenset[int], int] = {}
        held: dict[frozenset[int], deque[Hit]] = {}
        told: dict[str, int] = {}
        for hit in hits(oldest_first(one_record_per_line(to_utf8(chunks))), self._automaton):
            if said.get(hit.literals, 0) > _LOUD:
                held.setdefault(hit.literals, deque(maxlen=_LAST)).append(hit.alone())
                continue
            events = list(self._events(hit, told))
            if events:
                yield from self._all_of(held, told)
                yield from events
                said[hit.literals] = said.get(hit.literals, 0) + 1
                if any(event.kind == "setting" for event in events):
                    said.clear()
        yield from self._all_of(held, told)

    def _all_of(self, held: dict[frozenset[int], deque[Hit]], told: dict[str, int]) -> Iterator[Event]:
        for hit in sorted((hit for last in held.values() for hit in last), key=lambda hit: hit.number):
            yield from self._events(hit, told)
        held.clear()

    def _events(self, hit: Hit, told: dict[str, int]) -> Iterator[Event]:
        """Read one line: a generic event only where no other signature claims it, a broken message only once.

        ``told`` remembers the last line of each signature.
        """
        read = lines(hit.raw)
        found: list[tuple[int, Event]] = []
        claimed: set[int] = set()
        for index in sorted({index for literal in hit.literals for index in self._owners[literal]}):
            signature = self.signatures[index]
            if signature.kind == "generic" and len(claimed) == len(read):
                break
            events = [
                one
                for one in _of_signature(signature, hit, read)
                if signature.kind != "generic" or one[0] not in claimed
            ]
            found += events[-1:] if signature.kind == "mark" else events
            if signature.kind not in _NEVER_BROKEN:
                claimed.update(place for place, _ in events)
        for _, event in sorted(found, key=lambda item: item[0]):
            again = event.line < hit.number and told.get(event.signature, 0) >= event.line
            if not again:
                told[event.signature] = hit.number
                yield event


def _of_signature(signature: Signature, hit: Hit, read: tuple[Line, ...]) -> Iterator[tuple[int, Event]]:
    """Look for a signature in the lines that one physical line holds."""
    last = len(read) - 1  # what stands before it, in one line of a progress bar or a record, goes on nowhere
    for place, line in enumerate(read):
        if last and not any(literal in line.text for literal in signature.contains):
            continue
        text = _Text(line.text, line.rank, hit.number)
        found = match(signature, line.text)
        if place == last and _may_go_on(signature, line, found):
            text, found = _over_lines(signature, hit, line, (text, found))
        if found:
            yield place, _event(signature, text, found)


def _may_go_on(signature: Signature, line: Line, found: Match | None) -> bool:
    """Say whether the lines around may hold the rest of the message."""
    if signature.kind in _NEVER_BROKEN or signature.pattern is None:
        return False
    if found is None or goes_on(line):
        return True
    return len(line.text) <= _CONSOLE and (found.end >= len(line.text.rstrip()) or not is_complete(signature, found))


def _over_lines(
    signature: Signature, hit: Hit, line: Line, alone: tuple[_Text, Match | None]
) -> tuple[_Text, Match | None]:
    """Take the lines around together where they say more than the line alone.

    Most consoles break between words; where several lines are equally long, rather in the midst of one.
    """
    raws = hit.following(_FOLLOWING_A_SETTING if signature.kind == "setting" else _FOLLOWING)
    after = _continuation(line, raws)
    full = len(after) > 2 and len(raws[0]) == len(raws[1]) == len(hit.raw)
    usual, other = ("", " ") if full else (" ", "")
    best = alone
    for glue in (usual, other):
        for text in _broken(hit, line, after, glue):
            found = match(signature, text.text)
            if found and found.says_more_than(best[1], longer=glue == usual and best is alone):
                best = text, found
    return best


def _broken(hit: Hit, line: Line, after: list[Line], glue: str) -> Iterator[_Text]:
    """Put the line together with those that continue it, then also with those that it continues."""
    if after:
        yield _joined([line, *after], hit.number, glue)
    before: list[Line] = []
    for raw in reversed(hit.preceding(_PRECEDING)):
        earlier = (lines(raw) or (Line(""),))[-1]
        if not continues(earlier, before[0] if before else line):
            break
        before.insert(0, earlier)
    if before:
        yield _joined([*before, line, *after], hit.number - len(before), glue)


def _continuation(line: Line, raws: Iterable[bytes]) -> list[Line]:
    """Take the lines that continue the message, as far as each says so itself or looks like it."""
    after: list[Line] = []
    for raw in raws:
        later = (lines(raw) or (Line(""),))[0]
        previous = after[-1] if after else line
        if not goes_on(previous) and (goes_on(line) or not continues(line, later)):
            break
        after.append(later)
    return after


def _joined(parts: list[Line], number: int, glue: str) -> _Text:
    """Put broken lines together; a number that goes on in the next line was cut, whatever the console usually does."""
    text = parts[0].text
    starts = [0]
    for previous, part in pairwise(parts):
        number_cut = part.text[:1].isdigit() and text.rstrip(".")[-1:].isdigit()
        whole = glue == "" or previous.partial or number_cut
        text = text if whole else text.rstrip().removesuffix("\\").rstrip() + glue
        starts.append(len(text))
        text += part.text if whole else part.text.lstrip()
    return _Text(text, parts[0].rank, number, tuple(starts))


def _event(signature: Signature, text: _Text, found: Match) -> Event:
    line = text.line_of(found.start)
    return Event(
        signature.name,
        signature.kind,
        signature.phase,
        signature.reached,
        typed(signature, found, f"log:{line}"),
        line,
        text.rank,
        redact(text.text[found.start : min(found.end, found.start + 2 * _QUOTE)])[:_QUOTE],
    )
