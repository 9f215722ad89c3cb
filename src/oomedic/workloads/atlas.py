"""Where every node of a manifest is written: its object, its pointer, and the text that it stands in.

Some leaves hold YAML themselves (``serveConfigV2``, a configuration file in a ConfigMap, a patch of kustomize). Their
text is a layer on top of the file's: a node of it is found by the leaf that holds it and a path inside.
"""

from collections.abc import Iterator
from typing import NamedTuple

from oomedic.errors import InputError
from oomedic.kube.objects import KubeObject
from oomedic.workloads.workload import EditPath
from oomedic.yamldoc.nodes import MappingNode, Node, ScalarNode, SequenceNode, merges, pointer_token
from oomedic.yamldoc.text import YamlFile, compose


class Layer(NamedTuple):
    """A text of YAML: a file, or the value of the leaf ``holder`` of the layer ``outer``."""

    file: YamlFile
    holder: ScalarNode | None = None
    outer: "Layer | None" = None


class Spot(NamedTuple):
    """One node's place.

    Attributes:
        found: the object that holds it.
        layer: the text that it stands in.
        root: the root of its document there.
        pointer: from the root of the object; in a layer, that of the leaf that holds the layer's text.
        inner: the dotted path inside the layer, None in a file itself.
        parent: the list or mapping that holds it.
    """

    found: KubeObject
    layer: Layer
    root: Node
    pointer: str
    inner: str | None = None
    parent: Node | None = None

    def edit_path(self, scalar: Node | None = None, inner: str | None = None) -> EditPath:
        """Say where a change would go; ``inner`` names the word to change in the text of a leaf."""
        while isinstance(scalar, ScalarNode) and scalar.made_from is not None:
            scalar = scalar.made_from
        in_file = self.layer.outer is None
        span = (scalar.start, scalar.end) if isinstance(scalar, ScalarNode) and in_file else None
        within = " ".join(part for part in (self.inner, inner) if part) or None
        return EditPath(self.found.file.path, self.found.title, self.pointer, within, span)


class Atlas:
    """Places by node. Objects are taken in when they are first looked at: most are never asked for."""

    def __init__(self) -> None:
        """Start without any object."""
        self._spots: dict[int, Spot] = {}
        self._taken: dict[int, object] = {}

    def take(self, found: KubeObject) -> None:
        """Take in every node of an object; a node behind several aliases is where its anchor is."""
        if id(found.node) not in self._taken and not found.rendered:
            self._taken[id(found.node)] = found
            self._add(Spot(found, Layer(found.file), found.root, "", None), found.node)

    def spot(self, node: Node | None) -> Spot | None:
        """Return where a node is written, None for one that nobody wrote."""
        while isinstance(node, ScalarNode) and node.made_from is not None:
            node = node.made_from
        return self._spots.get(id(node))

    def take_document(self, found: KubeObject, root: Node, inner: str) -> None:
        """Take in a document that is no object, such as a list of changes; ``inner`` starts the paths of its nodes."""
        self._add(Spot(found, Layer(found.file), root, "", inner), root)

    def open(self, leaf: Node | None, prefix: str = "") -> Node | None:
        """Read the YAML that a leaf holds; None where it holds none. ``prefix`` starts the paths of its nodes."""
        around = self.spot(leaf)
        if around is None or not isinstance(leaf, ScalarNode) or not leaf.value.strip():
            return None
        if id(leaf) not in self._taken:
            try:
                file = compose(leaf.value, around.found.file.path)
            except InputError:
                return None
            self._taken[id(leaf)] = file
            layer = Layer(file, leaf, around.layer)
            for root in file.documents[:1]:
                self._add(Spot(around.found, layer, root, around.pointer, prefix), root)
        opened = self._taken[id(leaf)]
        return opened.documents[0] if isinstance(opened, YamlFile) and opened.documents else None

    def _add(self, start: Spot, node: Node) -> None:
        waiting = [(node, start)]
        while waiting:
            node, spot = waiting.pop()
            if id(node) in self._spots:
                continue
            self._spots[id(node)] = spot
            waiting += reversed([(child, _below(spot, node, step)) for step, child in _children(node)])


def _children(node: Node) -> Iterator[tuple[str | int | None, Node]]:
    if isinstance(node, SequenceNode):
        yield from enumerate(node.items)
    elif isinstance(node, MappingNode):
        for key, value in node.pairs:
            if isinstance(key, ScalarNode):
                yield (None if merges(key) else key.value), value
                yield key.value, key


def _below(spot: Spot, parent: Node, step: str | int | None) -> Spot:
    """Return the place one step below; what is merged in stands at the mapping itself."""
    if step is None:
        return spot._replace(parent=parent)
    if spot.inner is None:
        return spot._replace(pointer=f"{spot.pointer}/{pointer_token(str(step))}", parent=parent)
    dot = "." if spot.inner and not spot.inner.endswith(" ") else ""
    return spot._replace(
        inner=f"{spot.inner}[{step}]" if isinstance(step, int) else f"{spot.inner}{dot}{step}", parent=parent
    )
