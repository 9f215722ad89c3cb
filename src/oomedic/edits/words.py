"""One change of a command line: which words become what, and which characters of the manifest that means."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from oomedic.arguments.given import Value
from oomedic.arguments.shell_words import Word
from oomedic.arguments.words import Occurrence
from oomedic.edits.change import Change
from oomedic.workloads.atlas import Spot
from oomedic.workloads.command import CommandLine, place_of
from oomedic.workloads.source import Source
from oomedic.yamldoc.insert import pair_removed
from oomedic.yamldoc.nodes import MappingNode, Node, ScalarNode, SequenceNode, get
from oomedic.yamldoc.splice import appended, inside, refused, removed

_SAFE: Final = re.compile(r"[\w./:=,+@%-]+")
_LISTED: Final = re.compile(r"(?:command|args)/\d+")
_VALUE_AND_COMMA: Final = (",", ":")


class Line(NamedTuple):
    """A command line, and where its words are written."""

    command: CommandLine
    source: Source

    @property
    def words(self) -> tuple[Word, ...]:
        """All words, the program's name included."""
        return self.command.words

    @property
    def first(self) -> int:
        """The index of the first argument among the words."""
        return len(self.command.words) - len(self.command.arguments)

    def leaf(self, word: Word) -> ScalarNode | None:
        """Return the leaf that a word is written in."""
        return self.command.places.get(word.origin)

    def spot(self, node: Node) -> Spot:
        """Return where a node is written.

        Raises:
            InputError: ``edit-refused``: a chart or a controller makes it.
        """
        spot = self.source.spot(node)
        if spot is None or (isinstance(node, ScalarNode) and node.event < 0):
            raise refused("written-elsewhere")
        return spot

    def texts(self, start: int, end: int, *new: str) -> tuple[str, ...]:
        """Return the words' texts with those from ``start`` to ``end`` replaced."""
        before = [word.text for word in self.words]
        return (*before[:start], *new, *before[end:])


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
    if behind is not None and behind is not line.leaf(word):
        return (_of_variable(line, behind, index, (whole, new)), replace_word(line, index, whole, occurrence.glued))
    return (replace_word(line, index, whole, occurrence.glued),)


def set_switch(line: Line, index: int, new: str, *, on: bool) -> Change | None:
    """Turn the leaf that a chart makes a flag of; None where the flag itself is written."""
    leaf = line.leaf(line.words[index])
    switch = leaf.made_from if leaf else None
    if not isinstance(switch, ScalarNode) or switch.value.lower() not in {"true", "false"}:
        return None
    text = ("true" if on else "false") if switch.value.islower() else str(on)
    return _inside(line, switch, (0, len(switch.value), text), line.texts(index, index + 1, new))


def replace_word(line: Line, index: int, new: str, kept: int = 0) -> Change:
    """Write another text for one word; its first ``kept`` characters stay as they are written."""
    word = line.words[index]
    leaf = line.leaf(word)
    if leaf is None or word.span is None:
        raise refused("written-elsewhere")
    start, end = word.span
    written = leaf.value[start:end]
    if _is_text(line, word, leaf) or (written == word.text and _SAFE.fullmatch(new)):
        text, start = new[kept:], start + kept
    elif word.quoting in {"'", '"'} and word.quoting not in new and "\\" not in new and "$" not in new:
        text, start, end = new[kept:], start + 1 + kept, end - 1
    else:
        text = _quoted(line, word, new)
    return _inside(line, leaf, (start, end, text), line.texts(index, index + 1, new))


def append_words(line: Line, new: Sequence[str]) -> Change:
    """Add words behind the last one: items of its list, or words of its program."""
    if not line.words:
        raise refused("no-arguments")
    last = line.words[-1]
    texts = (*(word.text for word in line.words), *new)
    carrier = line.command.places.get(last.carrier)
    if carrier is None:
        raise refused("written-elsewhere")
    if line.command.program == last.carrier:
        span = last.reference or last.span
        if span is None or (last.reference is None and last.origin != last.carrier):
            raise refused("written-elsewhere")
        text = "".join(" " + (word if _SAFE.fullmatch(word) else _quoted(line, last, word)) for word in new)
        return _inside(line, carrier, (span[1], span[1], text), texts)
    spot = line.spot(carrier)
    if not _LISTED.fullmatch(last.carrier) or not isinstance(spot.parent, SequenceNode):
        raise refused("written-elsewhere")
    return appended_items(line, spot.parent, new, texts)


def appended_items(line: Line, sequence: SequenceNode, new: Sequence[str], words: tuple[str, ...]) -> Change:
    """Add items to a list that has some."""
    spot = line.spot(sequence)
    splice = appended(spot.layer.file.text, sequence, new)
    added = tuple(("ScalarEvent", text) for text in new)
    return Change(spot, sequence, (splice,), words, added=(sequence.last, added))


def remove_words(line: Line, occurrence: Occurrence) -> tuple[Change, ...]:
    """Remove the words of an argument: the ways to do so, best first."""
    first, last = line.first + occurrence.first, line.first + occurrence.last
    texts = line.texts(first, last + 1)
    start, end = line.words[first], line.words[last]
    leaves = [line.leaf(word) for word in (start, end)]
    if leaves[0] is not None and leaves[0].event < 0:
        return (_without_node(line, leaves[0].made_from, texts),)
    if line.command.program is None or (end.origin != line.command.program and _LISTED.fullmatch(end.origin)):
        return (_without_items(line, leaves, texts),)
    leaf = leaves[1]
    if leaf is None or start.origin != end.origin:
        raise refused("written-elsewhere")
    if all(first <= at <= last for at, word in enumerate(line.words) if word.origin == end.origin):
        return (_without_variable(line, leaf, end, texts),)
    changes = tuple(_without_span(line, leaf, (first, last), texts))
    if not changes:
        raise refused("written-elsewhere")
    return changes


def _without_span(line: Line, leaf: ScalarNode, part: tuple[int, int], texts: tuple[str, ...]) -> Iterator[Change]:
    """Yield the ways to cut words out of a text: with the blank before them, or with the one behind them."""
    first, last = part
    end = line.words[last]
    before = line.words[first - 1]
    own = before.span if before.origin == end.origin else before.reference
    if own is not None:
        spans = [(own, end.span), (before.reference or own, end.reference or end.span)]
        cuts = [(left[1], right[1]) for left, right in spans if left and right]
    elif last + 1 < len(line.words):
        start, after = line.words[first], line.words[last + 1]
        cuts = [(start.span[0], after.span[0])] if start.span and after.span and after.origin == end.origin else []
    else:
        cuts = []
    yield from (_inside(line, leaf, (left, right, ""), texts) for left, right in cuts if left < right)


def _without_variable(line: Line, leaf: ScalarNode, word: Word, texts: tuple[str, ...]) -> Change:
    """Remove a variable that holds nothing else."""
    spot = line.spot(leaf)
    if not word.origin.startswith("env/") or not isinstance(spot.parent, MappingNode):
        raise refused("written-elsewhere")
    listed = line.source.spot(spot.parent)
    return _without_node(line, spot.parent if listed and isinstance(listed.parent, SequenceNode) else leaf, texts)


def _of_variable(line: Line, leaf: ScalarNode, index: int, texts: tuple[str, str]) -> Change:
    """Change the variable that a value comes from; other words may come from it too."""
    whole, new = texts
    words = tuple(whole if at == index else word.text for at, word in enumerate(line.words))
    return _inside(line, leaf, (0, len(leaf.value), new), words)


def _inside(line: Line, scalar: ScalarNode, part: tuple[int, int, str], words: tuple[str, ...]) -> Change:
    start, end, text = part
    spot = line.spot(scalar)
    value = scalar.value[:start] + text + scalar.value[end:]
    splice = inside(spot.layer.file.text, scalar, start, end, text)
    return Change(spot, scalar, (splice,), words, {scalar.event: value})


def _without_items(line: Line, leaves: Sequence[ScalarNode | None], words: tuple[str, ...]) -> Change:
    """Remove the items that hold words, or the operations of a patch that add them."""
    if any(leaf is None for leaf in leaves):
        raise refused("written-elsewhere")
    first, last = (_item(line, leaf) for leaf in leaves if leaf is not None)
    sequence = line.spot(first).parent
    if not isinstance(sequence, SequenceNode) or line.spot(last).parent is not sequence:
        raise refused("written-elsewhere")
    part = [next(at for at, item in enumerate(sequence.items) if item is node) for node in (first, last)]
    if part == [0, len(sequence.items) - 1]:
        return _without_node(line, sequence, words)
    spot = line.spot(sequence)
    splices = tuple(removed(spot.layer.file.text, sequence, *part))
    return Change(spot, sequence, splices, words, removed=_events(first, last))


def _item(line: Line, leaf: ScalarNode) -> Node:
    """Return the item that holds a word: the leaf itself, or the operation whose value it is."""
    parent = line.spot(leaf).parent
    return parent if isinstance(parent, MappingNode) and get(parent, "op") is not None else leaf


def _without_node(line: Line, node: Node | None, words: tuple[str, ...]) -> Change:
    """Remove a node from what holds it, and what would hold nothing any more with it."""
    spot = line.source.spot(node)
    parent = spot.parent if spot else None
    if spot and parent is None and spot.layer.holder is not None:
        return _without_node(line, line.spot(spot.layer.holder).parent, words)
    if node is None or parent is None or isinstance(parent, ScalarNode):
        raise refused("written-elsewhere")
    size = len(parent.pairs if isinstance(parent, MappingNode) else parent.items)
    if size == 1:
        return _without_node(line, parent, words)
    place = line.spot(parent)
    text = place.layer.file.text
    if isinstance(parent, SequenceNode):
        index = next(at for at, item in enumerate(parent.items) if item is node)
        splices = tuple(removed(text, parent, index, index))
        return Change(place, parent, splices, words, removed=_events(node, node))
    key = next(key for key, value in parent.pairs if value is node)
    return Change(place, parent, (pair_removed(text, parent, node),), words, removed=_events(key, node))


def _events(first: Node, last: Node) -> range:
    """Return the numbers of the events from the start of one node to the end of another."""
    return range(first.event, _last(last) + 1)


def _last(node: Node) -> int:
    return node.event if isinstance(node, ScalarNode) else node.last


def _is_text(line: Line, word: Word, leaf: ScalarNode) -> bool:
    """Tell whether a word is a leaf by itself, so that no shell reads what is written there."""
    return word.origin != line.command.program and word.span == (0, len(leaf.value))


def _quoted(line: Line, word: Word, text: str) -> str:
    if word.origin != line.command.program or "'" in text:
        raise refused("quoting")
    return f"'{text}'"
