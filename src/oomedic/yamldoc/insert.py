"""Additions to a YAML text, in the style of the collection that takes them, and removal of what stands in a mapping."""

import json
import re
from collections.abc import Mapping
from typing import Any

from oomedic.yamldoc.nodes import MappingNode, Node, ScalarNode, SequenceNode
from oomedic.yamldoc.splice import Splice, line_end, refused, written


def flow(value: Any) -> str:
    """Write a value on one line, in flow style.

    >>> flow({"env": [{"name": "AB", "value": "--x y"}]}), flow("8192"), flow(8192), flow(True)
    ('{env: [{name: AB, value: "--x y"}]}', '"8192"', '8192', 'true')
    """
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key_text(str(key))}: {flow(inside)}" for key, inside in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow, value)) + "]"
    return written(value, "", '"') if isinstance(value, str) else json.dumps(value)


def key_text(key: str) -> str:
    """Write a key, in quotes where it could be taken for something else.

    >>> key_text("max-model-len"), key_text("--max-model-len"), key_text("on")
    ('max-model-len', '--max-model-len', '"on"')
    """
    return written(key, "", '"')


def pair_added(text: str, mapping: MappingNode, key: str, value: Any) -> Splice:
    """Add a pair behind the last one of a mapping; a key that is there without a value gets it."""
    line = f"{key_text(key)}: {flow(value)}"
    for name, node in mapping.pairs:
        if isinstance(name, ScalarNode) and name.value == key:
            return _filled(text, node, value)
    if mapping.flow:
        if not mapping.pairs:
            return Splice(mapping.start + 1, mapping.start + 1, line)
        end = mapping.pairs[-1][1].end
        return Splice(end, end, f", {line}")
    first, last = mapping.pairs[0][0], mapping.pairs[-1][1]
    column = first.start - (text.rfind("\n", 0, first.start) + 1)
    end = line_end(text, last)
    return Splice(end, end, f"{_newline(text)}{' ' * column}{line}")


def item_added(text: str, sequence: SequenceNode, value: Any) -> Splice:
    """Add an item behind the last one of a list."""
    if sequence.flow:
        if not sequence.items:
            return Splice(sequence.start + 1, sequence.start + 1, flow(value))
        end = sequence.items[-1].end
        return Splice(end, end, f", {flow(value)}")
    first = sequence.items[0]
    start = text.rfind("\n", 0, first.start) + 1
    dash = re.compile(r"(\s*)-[ \t]+").match(text, start, first.start)
    if dash is None:
        raise refused("list-style")
    end = line_end(text, sequence.items[-1])
    return Splice(end, end, f"{_newline(text)}{dash[0]}{flow(value)}")


def pair_removed(text: str, mapping: MappingNode, value: Node) -> Splice:
    """Remove the pair of a value from a mapping, with its line in block style.

    Raises:
        InputError: ``edit-refused``: the pair is the last of its mapping, or shares a line with something else.
    """
    index = next((at for at, (_, node) in enumerate(mapping.pairs) if node is value), None)
    if index is None or len(mapping.pairs) == 1:
        raise refused("mapping-empty" if index is not None else "written-elsewhere")
    key = mapping.pairs[index][0]
    if mapping.flow:
        if index:
            return Splice(mapping.pairs[index - 1][1].end, value.end, "")
        return Splice(key.start, mapping.pairs[1][0].start, "")
    start = text.rfind("\n", 0, key.start) + 1
    if text[start : key.start].strip():  # the first key of a list's item: the next one takes its place
        following = mapping.pairs[index + 1][0] if index + 1 < len(mapping.pairs) else None
        if following is None:
            raise refused("list-style")
        return Splice(key.start, following.start, "")
    stop = text.find("\n", line_end(text, value))
    if stop >= 0:
        return Splice(start, stop + 1, "")
    return Splice(start - len("\r\n" if text[:start].endswith("\r\n") else "\n"), len(text), "")


def events_of(value: Any) -> tuple[tuple[str, str], ...]:
    """Return the events that a value gives when it is read."""
    from oomedic.yamldoc.text import compose  # only an edit needs it here

    return compose(flow(value), "").events[2:-2]


def _filled(text: str, node: Node, value: Any) -> Splice:
    """Give a key its value that has none yet."""
    if isinstance(node, ScalarNode) and not node.style and node.value in {"", "~", "null"}:
        space = "" if text[node.start - 1 : node.start].isspace() and node.value else " "
        return Splice(node.start, node.end, f"{space}{flow(value)}")
    raise refused("written-elsewhere")


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
