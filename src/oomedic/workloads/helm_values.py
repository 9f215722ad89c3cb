"""Values of Helm charts: the references that they make to each other, and where GitOps tools keep them.

Nothing is rendered. A reference to one value (``{{ .Values.a.b }}``) is looked up; whatever else stands in braces is
left as it is.
"""

import re
from collections.abc import Iterator
from typing import Final

from oomedic.kube.objects import KubeObject
from oomedic.workloads.source import Source
from oomedic.yamldoc.nodes import MappingNode, Node, ScalarNode, SequenceNode, fields, get, items, text_of
from oomedic.yamldoc.rendered import leaf, listed, mapped

_REFERENCE: Final = re.compile(r"\{\{-?\s*\.Values\.([\w.]+)\s*-?\}\}")
_DEPTH: Final = 5


def looked_up(text: str, values: Node, depth: int = 0) -> str:
    """Replace references to other values.

    >>> from oomedic.yamldoc.rendered import nested
    >>> looked_up("hf://{{ .Values.a.b }}", nested("a.b", "x"))
    'hf://x'
    """

    def value(match: re.Match[str]) -> str:
        found = text_of(get(values, *match[1].split(".")))
        return match[0] if found is None or depth >= _DEPTH else looked_up(found, values, depth + 1)

    return _REFERENCE.sub(value, text)


def filled_in(node: Node | None, values: Node) -> Node | None:
    """Return a node with its references looked up; what has none stays the very node of the file."""
    if isinstance(node, ScalarNode):
        text = looked_up(node.value, values) if "{{" in node.value else node.value
        return node if text == node.value else leaf(text, node)
    if isinstance(node, SequenceNode):
        inside = [filled_in(item, values) or item for item in node.items]
        same = all(new is old for new, old in zip(inside, node.items, strict=True))
        return node if same else listed(inside)
    if isinstance(node, MappingNode):
        before = fields(node)
        after = {key: filled_in(value, values) for key, value in before.items()}
        return node if all(after[key] is value for key, value in before.items()) else mapped(after)
    return None


def embedded(found: KubeObject, source: Source) -> Iterator[KubeObject]:
    """Yield the values that a HelmRelease of Flux or an Application of Argo CD hands to a chart."""
    if found.kind == "HelmRelease" and found.group.endswith("toolkit.fluxcd.io"):
        nodes = [found.at("/spec/values")]
    elif found.kind == "Application" and found.group == "argoproj.io":
        sources = [found.at("/spec/source"), *items(found.at("/spec/sources"))]
        nodes = [get(each, "helm", "valuesObject") or source.open(get(each, "helm", "values")) for each in sources]
    else:
        return
    for node in nodes:
        if isinstance(node, MappingNode):
            yield found._replace(node=node, kind="", api_version="")
