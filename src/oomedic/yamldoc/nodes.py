"""YAML nodes with their place in the text, and how to find one among them."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

_NULLS: Final = frozenset(("", "~", "null", "Null", "NULL"))


class ScalarNode(NamedTuple):
    """A leaf.

    Attributes:
        value: the text after quotes, escapes and folding.
        start: its first character in the file, quotes and properties (``&anchor``) included; ``end`` is behind it.
        style: ``""`` for plain, ``'``, ``"``, ``|`` or ``>``.
        event: its number among the file's events, -1 for a leaf that a chart or a controller would write.
        tag: an explicit tag such as ``!!str``.
        made_from: the node that decides what such a leaf says, if there is one.
    """

    value: str
    start: int
    end: int
    style: str
    event: int
    tag: str | None = None
    made_from: "Node | None" = None


class SequenceNode(NamedTuple):
    """A list; ``flow`` is the one in brackets, ``event`` and ``last`` are the numbers of the events around it."""

    items: "tuple[Node, ...]"
    start: int
    end: int
    flow: bool
    last: int = -1
    event: int = -1


class MappingNode(NamedTuple):
    """Keys and values in the order of the file; ``flow``, ``event`` and ``last`` as for lists."""

    pairs: "tuple[tuple[Node, Node], ...]"
    start: int
    end: int
    flow: bool
    last: int = -1
    event: int = -1


Node = ScalarNode | SequenceNode | MappingNode


def fields(node: Node | None) -> dict[str, Node]:
    """Return the values of a mapping by key, merge keys (``<<``) resolved; nothing for any other node."""
    found: dict[str, Node] = {}
    waiting, seen = [node], set[int]()
    while waiting:
        mapping = waiting.pop()
        if not isinstance(mapping, MappingNode) or id(mapping) in seen:
            continue
        seen.add(id(mapping))
        merged: list[Node] = []
        for key, value in mapping.pairs:
            if isinstance(key, ScalarNode) and merges(key):
                merged += value.items if isinstance(value, SequenceNode) else (value,)
            elif isinstance(key, ScalarNode):
                found.setdefault(key.value, value)
        waiting += reversed(merged)
    return found


def merges(key: ScalarNode) -> bool:
    """Tell whether a key is YAML's merge key."""
    return key.value == "<<" and not key.style


def get(node: Node | None, *keys: str) -> Node | None:
    """Follow keys from mapping to mapping; None where one is missing."""
    for key in keys:
        node = fields(node).get(key)
    return node


def items(node: Node | None) -> Sequence[Node]:
    """Return the items of a list, nothing for any other node."""
    return node.items if isinstance(node, SequenceNode) else ()


def text_of(node: Node | None) -> str | None:
    """Return the text of a leaf as it would reach Kubernetes; None for null, collections and what is missing."""
    if not isinstance(node, ScalarNode) or (not node.style and not node.tag and node.value in _NULLS):
        return None
    return node.value


def texts_of(node: Node | None) -> dict[str, str]:
    """Return the leaves of a mapping as texts."""
    found = ((key, text_of(value)) for key, value in fields(node).items())
    return {key: value for key, value in found if value is not None}


def is_string(node: ScalarNode) -> bool:
    """Tell whether Kubernetes reads the leaf as a string, not as a number, a boolean or null."""
    if node.style or node.tag == "tag:yaml.org,2002:str":
        return True
    import yaml  # see compose

    resolver: Any = yaml.SafeLoader("")
    return resolver.resolve(yaml.ScalarNode, node.value, (True, False)) in {
        "tag:yaml.org,2002:str",
        "tag:yaml.org,2002:timestamp",
        "tag:yaml.org,2002:merge",
    }


def at_pointer(node: Node | None, pointer: str) -> Node | None:
    """Return the node that a JSON pointer (RFC 6901) names.

    >>> from oomedic.yamldoc.text import compose
    >>> at_pointer(compose("a/b: [x, y]", "f").documents[0], "/a~1b/1").value
    'y'
    """
    for token in pointer.split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        if isinstance(node, SequenceNode):
            node = node.items[int(key)] if key.isdecimal() and int(key) < len(node.items) else None
        else:
            node = fields(node).get(key)
    return node


def pointer_token(key: str) -> str:
    """Escape a key for a JSON pointer.

    >>> pointer_token("nvidia.com/gpu")
    'nvidia.com~1gpu'
    """
    return key.replace("~", "~0").replace("/", "~1")


def uses(root: Node, target: Node) -> int:
    """Count how often a node stands in a document when every alias is written out."""
    counted: dict[int, int] = {}

    def count(node: Node) -> int:
        if node is target:
            return 1
        if isinstance(node, ScalarNode):
            return 0
        if id(node) not in counted:
            inside = node.items if isinstance(node, SequenceNode) else (value for _, value in node.pairs)
            counted[id(node)] = sum(map(count, inside))
        return counted[id(node)]

    return count(root)
