"""The Kubernetes objects of a YAML file, with the place of each."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from oomedic.yamldoc.nodes import MappingNode, Node, at_pointer, get, items, text_of, texts_of
from oomedic.yamldoc.text import YamlFile


class KubeObject(NamedTuple):
    """One object, or one document without a kind (Helm values).

    Attributes:
        node: the object itself.
        name: ``metadata.name``, or ``metadata.generateName``.
        document: the number of its document in the file, ``item`` its number in a List or a Template.
        file: the text that it stands in.
        title: how an edit path names it: ``Kind/name``, or ``values``.
        rendered: whether a tool puts it together, so that it stands nowhere as a whole.
    """

    node: Node
    kind: str
    api_version: str
    name: str
    namespace: str | None
    document: int
    item: int | None
    file: YamlFile
    title: str
    rendered: bool = False

    @property
    def group(self) -> str:
        """The API group, "" for the core group."""
        return self.api_version.rpartition("/")[0]

    @property
    def root(self) -> Node:
        """The root of the document that it stands in."""
        return self.file.documents[self.document]

    def at(self, pointer: str) -> Node | None:
        """Return the node that a pointer names, None where nothing stands there."""
        return at_pointer(self.node, pointer)

    def labels(self) -> Mapping[str, str]:
        """Return its labels."""
        return texts_of(get(self.node, "metadata", "labels"))

    def annotations(self) -> Mapping[str, str]:
        """Return its annotations."""
        return texts_of(get(self.node, "metadata", "annotations"))


def objects_of(file: YamlFile) -> Iterator[KubeObject]:
    """Return every object of a file; the items of a List, and the objects of OpenShift's Template, are their own."""
    for number, document in enumerate(file.documents):
        if not isinstance(document, MappingNode):
            continue
        kind = text_of(get(document, "kind")) or ""
        listed = get(document, list_key(kind) or "")
        if listed is not None:
            item_kind = kind.removesuffix("List") if kind.endswith("List") else ""
            version = text_of(get(document, "apiVersion")) or ""
            for index, item in enumerate(items(listed)):
                if isinstance(item, MappingNode):
                    yield object_at(item, file, (number, index), (item_kind, version if item_kind else ""))
        else:
            yield object_at(document, file, (number, None))


def list_key(kind: str) -> str | None:
    """Return the key under which an object of a kind holds other objects, None for one that is an object itself.

    >>> list_key("List"), list_key("PodList"), list_key("Template"), list_key("Pod")
    ('items', 'items', 'objects', None)
    """
    if kind.endswith("List"):
        return "items"
    return "objects" if kind == "Template" else None


def object_at(
    node: Node, file: YamlFile, place: tuple[int, int | None], listed: tuple[str, str] = ("", "")
) -> KubeObject:
    """Return the object of a node; in a typed List the items need not say what they are (``listed``)."""
    metadata = get(node, "metadata")
    name = text_of(get(metadata, "name")) or text_of(get(metadata, "generateName")) or ""
    kind = text_of(get(node, "kind")) or listed[0]
    version = text_of(get(node, "apiVersion")) or listed[1]
    namespace = text_of(get(metadata, "namespace"))
    return KubeObject(node, kind, version, name, namespace, *place, file, f"{kind}/{name}" if kind else "values")
