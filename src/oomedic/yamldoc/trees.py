"""Changes of a tree of nodes by pointers, as JSON Patch (RFC 6902) describes them; the tree itself stays as it is."""

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, cast

from oomedic.yamldoc.nodes import MappingNode, Node, ScalarNode, SequenceNode, at_pointer, fields, get, text_of
from oomedic.yamldoc.rendered import leaf

Op = Literal["add", "replace", "remove"]
OPS: Final = frozenset(("add", "replace", "remove"))


class Operation(NamedTuple):
    """One operation; ``value`` is None for ``remove``."""

    op: Op
    path: str
    value: Node | None


def operations(patch: Node | None) -> list[Operation]:
    """Read a list of operations; ``test`` changes nothing, ``copy`` and ``move`` are written out by no tool we read."""
    found: list[Operation] = []
    for entry in patch.items if isinstance(patch, SequenceNode) else ():
        name, path = text_of(get(entry, "op")), text_of(get(entry, "path"))
        if path is not None and name in OPS:
            found.append(Operation(cast("Op", name), path, get(entry, "value")))
    return found


def applied(node: Node, changes: Sequence[Operation]) -> Node:
    """Return a tree with operations applied; one whose place does not exist changes nothing."""
    for change in changes:
        steps = [step.replace("~1", "/").replace("~0", "~") for step in change.path.split("/")[1:]]
        there = at_pointer(node, change.path) is not None
        if steps and (there or change.op == "add"):
            node = _changed(node, steps, change)
    return node


def _changed(node: Node, steps: Sequence[str], change: Operation) -> Node:
    first, *rest = steps
    if isinstance(node, SequenceNode):
        return _in_list(node, first, rest, change)
    if not isinstance(node, MappingNode):
        return node
    pairs = {name: (key, value) for key, value in node.pairs if isinstance(key, ScalarNode) for name in (key.value,)}
    for name, value in fields(node).items():
        pairs.setdefault(name, (leaf(name), value))
    if rest:
        if first in pairs:
            pairs[first] = (pairs[first][0], _changed(pairs[first][1], rest, change))
    elif change.op == "remove":
        pairs.pop(first, None)
    elif change.value is not None:
        pairs[first] = (pairs[first][0] if first in pairs else leaf(first), change.value)
    return MappingNode(tuple(pairs.values()), -1, -1, flow=True)


def _in_list(node: SequenceNode, first: str, rest: Sequence[str], change: Operation) -> Node:
    items = list(node.items)
    index = len(items) if first == "-" else int(first) if first.isdecimal() else -1
    if not 0 <= index <= len(items):
        return node
    if rest and index < len(items):
        items[index] = _changed(items[index], rest, change)
    elif change.op == "add" and change.value is not None:
        items.insert(index, change.value)
    elif index < len(items):
        items[index : index + 1] = [] if change.value is None else [change.value]
    return SequenceNode(tuple(items), -1, -1, flow=True)
