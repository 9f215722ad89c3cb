"""A node as the API server would hold it: YAML 1.1 decides what is a number, a boolean or null."""

from typing import Any, Final

from oomedic.yamldoc.nodes import MappingNode, Node, ScalarNode, SequenceNode, fields, is_string

_TYPES: Final = frozenset(f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float"))
"""Of what is not text; dates and numbers in sixties (``1:30``) stay text in Kubernetes."""


def kube_value(node: Node | None) -> Any:
    """Return a node as plain values, with the types that Kubernetes reads.

    >>> from oomedic.yamldoc.text import compose
    >>> kube_value(compose("{a: '8', b: 8, c: yes, d: 0o7, e: 0644, f: 1e3, g: x}", "").documents[0])
    {'a': '8', 'b': 8, 'c': True, 'd': '0o7', 'e': 420, 'f': '1e3', 'g': 'x'}
    """
    if isinstance(node, MappingNode):
        return {key: kube_value(value) for key, value in fields(node).items()}
    if isinstance(node, SequenceNode):
        return [kube_value(item) for item in node.items]
    if node is None or is_string(node):
        return None if node is None else node.value
    return _typed(node)


def _typed(node: ScalarNode) -> Any:
    import yaml  # only where values are compared

    loader: Any = yaml.SafeLoader("")
    tag = node.tag or loader.resolve(yaml.ScalarNode, node.value, (True, False))
    if tag not in _TYPES or ":" in node.value:
        return node.value
    return loader.construct_object(yaml.ScalarNode(tag, node.value))
