"""One change of a command line: which words become what, and which characters of the manifest that means."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from oomedic.argument_words import Occurrence
from oomedic.command import CommandLine, Place, place_of
from oomedic.given import Value
from oomedic.shell_words import Word
from oomedic.yamlnodes import Node, ScalarNode, SequenceNode
from oomedic.yamlsplice import Splice, appended, inside, refused, removed

_SAFE: Final = re.compile(r"[\w./:=,+@%-]+")
_LISTED: Final = re.compile(r"(command|args)/(\d+)")
_VALUE_AND_COMMA: Final = (",", ":")


class Change(NamedTuple):
    """Splices and what they are meant to do, so that it can be proved.

    Attributes:
        splices: the characters that change.
        node: the leaf or list that they belong to.
        words: the words of the command line afterwards.
        values: new values of leaves, by their number among the file's events.
        added: leaves behind the one of that number.
        removed: numbers of leaves that are gone.
    """

    splices: tuple[Splice, ...]
    node: Node
    words: tuple[str, ...]
    values: Mapping[int, str] = {}
    added: tuple[int, tuple[str, ...]] = (-1, ())
    removed: range = range(0)

    def expected(self, events: Sequence[tuple[str, str]]) -> Sequence[tuple[str, str]]:
        """Return the events of the file as they must be afterwards."""
        found: list[tuple[str, str]] = []
        for number, (kind, value) in enumerate(events):
            if number not in self.removed:
                found.append((kind, self.values.get(number, value)))
            if number == self.added[0]:
                found += (("ScalarEvent", new) for new in self.added[1])
        return found


class Line(NamedTuple):
    """A command line with the lists that it is written in."""

    text: str
    command: CommandLine
    lists: Mapping[str, SequenceNode]

    @property
    def words(self) -> tuple[Word, ...]:
        """All words, the program's name included."""
        return self.command.words

    @property
    def first(self) -> int:
        """The index of the first argument among the words."""
        return len(self.command.words) - len(self.command.arguments)


def written_value(value: Value) -> str:
    """Write a value as it stands on a command line.

    >>> written_value(0.9), written_value({"image": 1})
    ('0.9', '{"image":1}')
    """
    if isinstance(value, Mapping | tuple):
        return json.dumps(thawed(value), separators=_VALUE_AND_COMMA)
    return str(value)


def thawed(value: Any) -> Any:
    """Turn tuples into lists, for JSON."""
    if isinstance(value, Mapping):
        return {key: thawed(inside) for key, inside in value.items()}
    return [thawed(inside) for inside in value] if isinstance(value, tuple | list) else value


def set_value(line: Line, occurrence: Occurrence, new: str) -> tuple[Change, ...]:
    """Give an argument another value, in its own style: the ways to do so, best first."""
    if len(occurrence.values) != (not occurrence.glued):
        raise refused("several-values" if occurrence.values else "without-value")
    index = line.first + occurrence.last
    word = line.words[index]
    whole = word.text[: occurrence.glued] + new
    behind = place_of(line.command, word, occurrence.glued)
    changes = [replace_word(line, index, whole, occurrence.glued)]
    if behind and behind != line.command.places.get(word.origin):
        texts = tuple(whole if at == index else other.text for at, other in enumerate(line.words))
        changes.insert(0, _inside(line, behind.scalar, (0, len(behind.scalar.value), new), texts))
    return tuple(changes)


def replace_word(line: Line, index: int, new: str, kept: int = 0) -> Change:
    """Write another text for one word; its first ``kept`` characters stay as they are written."""
    word = line.words[index]
    place = line.command.places.get(word.origin)
    if place is None or word.span is None:
        raise refused("written-elsewhere")
    start, end = word.span
    written = place.scalar.value[start:end]
    texts = tuple(new if at == index else other.text for at, other in enumerate(line.words))
    if _is_text(line, word, place) or (written == word.text and _SAFE.fullmatch(new)):
        text, start = new[kept:], start + kept
    elif word.quoting in {"'", '"'} and word.quoting not in new and "\\" not in new and "$" not in new:
        text, start, end = new[kept:], start + 1 + kept, end - 1
    else:
        text = _quoted(line, word, new)
    return _inside(line, place.scalar, (start, end, text), texts)


def append_words(line: Line, new: Sequence[str]) -> Change:
    """Add words behind the last one: items of its list, or words of its program."""
    if not line.words:
        raise refused("no-arguments")
    last = line.words[-1]
    carrier = last.where.replace("[", "/").rstrip("]")
    texts = (*(word.text for word in line.words), *new)
    if line.command.program == carrier:
        place = line.command.places[carrier]
        span = last.reference or last.span
        if span is None or (last.reference is None and last.origin != carrier):
            raise refused("written-elsewhere")
        text = "".join(" " + (word if _SAFE.fullmatch(word) else _quoted(line, last, word)) for word in new)
        return _inside(line, place.scalar, (span[1], span[1], text), texts)
    listed = _LISTED.fullmatch(carrier)
    if listed is None:
        raise refused("written-elsewhere")
    sequence = line.lists[listed[1]]
    behind = sequence.items[-1]
    number = behind.event if isinstance(behind, ScalarNode) else -1
    return Change((appended(line.text, sequence, new),), sequence, texts, added=(number, tuple(new)))


def remove_words(line: Line, occurrence: Occurrence) -> tuple[Change, ...]:
    """Remove the words of an argument: the ways to do so, best first."""
    first, last = line.first + occurrence.first, line.first + occurrence.last
    texts = tuple(word.text for at, word in enumerate(line.words) if not first <= at <= last)
    start, end = line.words[first], line.words[last]
    if line.command.program is None:
        listed = [_LISTED.fullmatch(word.origin) for word in (start, end)]
        if listed[0] is None or listed[1] is None or listed[0][1] != listed[1][1]:
            raise refused("written-elsewhere")
        sequence = line.lists[listed[0][1]]
        return (_without_items(line, sequence, (int(listed[0][2]), int(listed[1][2])), texts),)
    before = line.words[first - 1]
    place = line.command.places.get(end.origin)
    if place is None or before.origin != end.origin:
        raise refused("written-elsewhere")
    spans = ((before.span, end.span), (before.reference or before.span, end.reference or end.span))
    changes = tuple(
        _inside(line, place.scalar, (left[1], right[1], ""), texts)
        for left, right in spans
        if left and right and left[1] < right[1]
    )
    if not changes:
        raise refused("written-elsewhere")
    return changes


def _inside(line: Line, scalar: ScalarNode, part: tuple[int, int, str], words: tuple[str, ...]) -> Change:
    start, end, text = part
    value = scalar.value[:start] + text + scalar.value[end:]
    return Change((inside(line.text, scalar, start, end, text),), scalar, words, {scalar.event: value})


def _without_items(line: Line, sequence: SequenceNode, part: tuple[int, int], words: tuple[str, ...]) -> Change:
    first, last = (sequence.items[index] for index in part)
    if not (isinstance(first, ScalarNode) and isinstance(last, ScalarNode)):
        raise refused("list-style")
    splices = tuple(removed(line.text, sequence, *part))
    return Change(splices, sequence, words, removed=range(first.event, last.event + 1))


def _is_text(line: Line, word: Word, place: Place) -> bool:
    """Tell whether a word is a leaf by itself, so that no shell reads what is written there."""
    return word.origin != line.command.program and word.span == (0, len(place.scalar.value))


def _quoted(line: Line, word: Word, text: str) -> str:
    if word.origin != line.command.program or "'" in text:
        raise refused("quoting")
    return f"'{text}'"
