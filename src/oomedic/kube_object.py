"""The Kubernetes objects of a YAML file, with the place of each, and the one interface of every workload shape."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from oomedic.argument_table import ArgumentTable
from oomedic.workload import EditPath, Workload
from oomedic.yamlnodes import MappingNode, Node, ScalarNode, at_pointer, get, items, text_of
from oomedic.yamltext import YamlFile


class KubeObject(NamedTuple):
    """One object, or one document without a kind (Helm values).

    ``document`` is the number of its document in the file, ``item`` its number in a List.
    """

    node: Node
    kind: str
    api_version: str
    name: str
    namespace: str | None
    document: int
    item: int | None = None

    @property
    def group(self) -> str:
        """The API group, "" for the core group."""
        return self.api_version.rpartition("/")[0]

    def same_place(self, other: "KubeObject") -> bool:
        """Tell whether two objects stand at the same place of two versions of a file."""
        return (self.document, self.item, self.kind, self.name) == (
            other.document,
            other.item,
            other.kind,
            other.name,
        )

    def at(self, pointer: str) -> Node | None:
        """Return the node that a pointer names, None where nothing stands there."""
        return at_pointer(self.node, pointer)

    def edit_path(self, file: YamlFile, pointer: str, scalar: Node | None = None, inner: str | None = None) -> EditPath:
        """Say where in this object a change would go."""
        span = (scalar.start, scalar.end) if isinstance(scalar, ScalarNode) else None
        return EditPath(file.path, f"{self.kind}/{self.name}" if self.kind else "values", pointer, inner, span)


class Source(NamedTuple):
    """What a shape reads from: the file, all its objects, and vLLM's arguments."""

    file: YamlFile
    objects: tuple[KubeObject, ...]
    table: ArgumentTable

    def find(self, kind: str, name: str | None) -> KubeObject | None:
        """Return the object of this kind and name, if it stands in the same file."""
        return next((found for found in self.objects if found.kind == kind and found.name == name), None)


class Shape(Protocol):
    """A module of oomedic.shapes: one way in which engines are written down."""

    def recognises(self, found: KubeObject) -> bool:
        """Tell whether this shape reads such objects."""
        ...

    def read(self, found: KubeObject, source: Source) -> Iterable[Workload]:
        """Return the engines of an object."""
        ...


def objects_of(file: YamlFile) -> Iterator[KubeObject]:
    """Return every object of a file; the items of a List stand for themselves."""
    for number, document in enumerate(file.documents):
        found = _object(document, number, None)
        if found is None:
            continue
        if found.kind.endswith("List") and get(document, "items") is not None:
            listed = (_object(item, number, index) for index, item in enumerate(items(get(document, "items"))))
            yield from (item for item in listed if item is not None)
        else:
            yield found


def _object(node: Node, document: int, item: int | None) -> KubeObject | None:
    if not isinstance(node, MappingNode):
        return None
    metadata = get(node, "metadata")
    name = text_of(get(metadata, "name")) or text_of(get(metadata, "generateName")) or ""
    kind = text_of(get(node, "kind")) or ""
    api_version = text_of(get(node, "apiVersion")) or ""
    return KubeObject(node, kind, api_version, name, text_of(get(metadata, "namespace")), document, item)
