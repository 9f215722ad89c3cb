"""Small changes to a YAML text: replace some characters of a leaf, add or remove items of a list.

Every change is a splice, so all other characters of the file stay as they are. A leaf's characters are found in the
text through quotes, escapes, folding and indentation: what is not a blank stands there in the same order.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from oomedic.errors import InputError
from oomedic.yamldoc.nodes import Node, ScalarNode, SequenceNode, is_string

_BLANKS: Final = frozenset(" \t\r\n")
_PROPERTIES: Final = re.compile(r"(?:[&!][^\s,\[\]{}]*\s+)*")
_ESCAPE: Final = re.compile(r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|\r?\n|.)", re.DOTALL)
_ESCAPED: Final = {"0": "\0", "a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b"}
_ESCAPED_TOO: Final = {"N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029", "\r": "\n"}
_PLAIN: Final = re.compile(r"[A-Za-z/-][\w./=:@%+-]*[\w./=@%+-]")
_DASH: Final = re.compile(r"-[ \t]+$")


class Splice(NamedTuple):
    """Characters ``start`` to ``end`` become ``text``."""

    start: int
    end: int
    text: str


def apply_splices(text: str, splices: Iterable[Splice]) -> str:
    """Apply splices that do not overlap.

    >>> apply_splices("abcd", [Splice(1, 2, "X"), Splice(3, 3, "Y")])
    'aXcYd'
    """
    for splice in sorted(splices, reverse=True):
        text = text[: splice.start] + splice.text + text[splice.end :]
    return text


def inside(text: str, scalar: ScalarNode, start: int, end: int, new: str) -> Splice:
    """Replace the characters ``start`` to ``end`` of a leaf's value; an empty range inserts behind the one before.

    Raises:
        InputError: ``edit-refused``: the leaf is not written letter by letter.
    """
    if not scalar.value:
        raise refused("empty")
    spots = _spots(text, scalar)
    stands = not start or (start < end and scalar.value[start] not in _BLANKS)
    first = spots[start][0] if stands else spots[start - 1][1]
    last = spots[end - 1][1] if start < end else first
    return Splice(first, last, _escaped(_indented(text, scalar, new), scalar.style))


def requoted(text: str, scalar: ScalarNode, value: str) -> Splice:
    """Write a leaf anew in double quotes: its new value cannot stand without."""
    return Splice(_body(text, scalar), scalar.end, f'"{_escaped(value, chr(34))}"')


def appended(text: str, sequence: SequenceNode, values: Sequence[str]) -> Splice:
    """Add items behind the last one of a list, in the list's style."""
    last = sequence.items[-1]
    if not isinstance(last, ScalarNode):
        raise refused("list-style")
    simple = [item for item in sequence.items if isinstance(item, ScalarNode) and not {"'", '"'} & set(item.value)]
    quotes = [item.style for item in simple if item.style in {"'", '"'}]
    flags = quotes[-1] if quotes and all(_is_quoted(item) for item in sequence.items) else ""
    texts = [written(value, flags, quotes[-1] if quotes else '"') for value in values]
    if sequence.flow:
        before = sequence.items[-2].end if len(sequence.items) > 1 else last.start
        separator = text[before : last.start]
        separator = separator if re.fullmatch(r",\s*", separator) else ", "
        return Splice(last.end, last.end, "".join(separator + value for value in texts))
    line = text.rfind("\n", 0, last.start) + 1
    dash = _DASH.search(text, line, last.start)
    if dash is None:
        raise refused("list-style")
    end = line_end(text, last)
    newline = "\r\n" if "\r\n" in text else "\n"
    indent = re.sub(r"[^\t]", " ", text[line : dash.start()])
    return Splice(end, end, "".join(f"{newline}{indent}{dash[0]}{value}" for value in texts))


def removed(text: str, sequence: SequenceNode, first: int, last: int) -> list[Splice]:
    """Remove the items ``first`` to ``last`` (included) of a list, with their lines in block style."""
    nodes = sequence.items
    if last - first + 1 >= len(nodes):
        raise refused("list-empty")
    if not sequence.flow:
        return [_line(text, node) for node in nodes[first : last + 1]]
    start, end = (nodes[first - 1].end, nodes[last].end) if first else (nodes[0].start, nodes[last + 1].start)
    return [Splice(start, end, "")]


def refused(reason: str) -> InputError:
    """Make the error for a change that cannot be made without touching something else."""
    return InputError("edit-refused", reason=reason)


def line_end(text: str, node: Node) -> int:
    """Return the end of the line on which a node ends, before its line break."""
    while not isinstance(node, ScalarNode) and not node.flow:
        node = node.items[-1] if isinstance(node, SequenceNode) else node.pairs[-1][1]
    block = isinstance(node, ScalarNode) and node.style in {"|", ">"} and bool(node.value.strip())
    end = _spots(text, node)[-1][1] if block and isinstance(node, ScalarNode) else node.end
    stop = text.find("\n", end)
    stop = len(text) if stop < 0 else stop
    return stop - 1 if text[stop - 1 : stop] == "\r" else stop


def _line(text: str, node: Node) -> Splice:
    """Return the splice that removes the line of a list item."""
    start = text.rfind("\n", 0, node.start) + 1
    if not re.fullmatch(r"\s*-[ \t]+", text[start : node.start]):
        raise refused("list-style")
    stop = text.find("\n", line_end(text, node))
    if stop >= 0:
        return Splice(start, stop + 1, "")
    return Splice(start - len("\r\n" if text[:start].endswith("\r\n") else "\n"), len(text), "")


def _spots(text: str, scalar: ScalarNode) -> list[tuple[int, int]]:
    """Return where each character of the value stands; a blank stands behind what is before it."""
    characters = _characters(text, scalar)
    spots: list[tuple[int, int]] = []
    for wanted in scalar.value:
        if wanted in _BLANKS:
            end = spots[-1][1] if spots else _body(text, scalar)
            spots.append((end, end))
            continue
        character, start, end = next(characters, ("", 0, 0))
        if character != wanted:
            raise refused("not-letter-by-letter")
        spots.append((start, end))
    return spots


def _body(text: str, scalar: ScalarNode) -> int:
    properties = _PROPERTIES.match(text, scalar.start)
    return properties.end() if properties else scalar.start


def _characters(text: str, scalar: ScalarNode) -> Iterator[tuple[str, int, int]]:
    """Yield what is not blank in a leaf, with its place."""
    at, end = _body(text, scalar), scalar.end
    if scalar.style in {"|", ">"}:
        at = text.find("\n", at)
    elif scalar.style:
        at, end = at + 1, end - 1
    while at < end:
        character, length = text[at], 1
        if character == "\\" and scalar.style == '"':
            escape = _ESCAPE.match(text, at)
            length = len(escape[0]) if escape else 1
            character = _unescaped(escape[0][1:]) if escape else character
        elif character == "'" and scalar.style == "'":
            length = 2
        if character not in _BLANKS:
            yield character, at, at + length
        at += length


def _unescaped(code: str) -> str:
    if code[0] in "xuU":
        return chr(int(code[1:], 16))
    return _ESCAPED.get(code) or _ESCAPED_TOO.get(code[0]) or code


def _escaped(value: str, style: str) -> str:
    if style == '"':
        return value.replace("\\", "\\\\").replace('"', '\\"').replace("\r", "\\r").replace("\n", "\\n")
    return value.replace("'", "''") if style == "'" else value


def _indented(text: str, scalar: ScalarNode, new: str) -> str:
    """Indent the further lines of a new text as the lines of a literal block are."""
    if scalar.style != "|" or "\n" not in new:
        return new
    first = text.find("\n", _body(text, scalar)) + 1
    margin = re.compile(r"(?:[ \t]*\r?\n)*([ \t]*)").match(text, first)
    lines = (scalar.value.split("\n") if scalar.value else [""])[0]
    own = len(lines) - len(lines.lstrip(" "))
    indent = margin[1] if margin else ""
    indent = indent[: len(indent) - own] if own else indent
    return new.replace("\n", f"\n{indent}")


def _is_quoted(node: object) -> bool:
    return isinstance(node, ScalarNode) and node.style in {"'", '"'}


def written(value: str, style: str, quote: str) -> str:
    """Write a new leaf: plain where that is read as the same text, else in quotes."""
    plain = _PLAIN.fullmatch(value) and is_string(ScalarNode(value, 0, 0, "", 0))
    if plain and not style:
        return value
    quote = style or ("'" if '"' in value and "'" not in value else quote)
    quote = '"' if "\n" in value else quote  # in single quotes a line break is a blank
    return f"{quote}{_escaped(value, quote)}{quote}"
