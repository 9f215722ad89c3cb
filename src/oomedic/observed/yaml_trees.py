"""YAML read into plain values: mappings, lists, and leaves as the texts that they are."""

from typing import Any

from oomedic.yamldoc.nodes import MappingNode, Node, SequenceNode, fields, text_of
from oomedic.yamldoc.text import compose


def trees(text: str, path: str) -> list[Any]:
    """Return the documents of a file.

    Raises:
        InputError: ``yaml-…`` with the place.
    """
    return [_plain(node) for node in compose(text, path).documents]


def _plain(node: Node) -> Any:
    if isinstance(node, MappingNode):
        return {key: _plain(value) for key, value in fields(node).items()}
    if isinstance(node, SequenceNode):
        return [_plain(item) for item in node.items]
    return text_of(node)
