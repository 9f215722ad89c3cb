"""Folders of kustomize: what `kustomize build` would make of them, as far as it decides about an engine.

Resources, components, patches of all forms, images, replicas, names, namespaces and generated ConfigMaps are followed.
Each leaf of the result is the very node that somebody wrote, in a base, an overlay or a patch, so that a change finds
its source of truth.
"""

import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from oomedic.kube.objects import KubeObject, object_at, objects_of
from oomedic.workloads.atlas import Atlas
from oomedic.workloads.config_map_generator import Files, with_generated
from oomedic.workloads.kustomization import FILES, is_path
from oomedic.yamldoc.nodes import MappingNode, Node, ScalarNode, SequenceNode, get, items, text_of, texts_of
from oomedic.yamldoc.rendered import leaf, listed, mapped, merged
from oomedic.yamldoc.text import YamlFile, compose
from oomedic.yamldoc.trees import applied, operations

_DEPTH: Final = 20
_NAMED: Final = frozenset(("Namespace", "CustomResourceDefinition", "ConfigMap"))
"""Kinds whose names no prefix or suffix changes; those of ConfigMaps change together with all references to them."""


class Built(NamedTuple):
    """What a kustomization makes: its objects, where their parts are written, and what could not be followed."""

    objects: tuple[KubeObject, ...]
    atlas: Atlas
    file: YamlFile
    unresolved: tuple[str, ...]


def build(path: str, files: Files) -> Built:
    """Build a kustomization.

    Args:
        path: of the kustomization file.
        files: gives the text of every file that it refers to.

    Raises:
        InputError: ``yaml-…`` with the place, for any file that cannot be read.
    """
    builder = _Builder(files)
    objects = builder.folder(path, 0)
    numbered = (found._replace(document=number, item=None, file=builder.first) for number, found in enumerate(objects))
    return Built(tuple(numbered), builder.atlas, builder.first, tuple(builder.unresolved))


class _Builder:
    """Follows a kustomization through its bases."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self.atlas = Atlas()
        self.unresolved: list[str] = []
        self.first: YamlFile = YamlFile("", "", (), (), None)

    def folder(self, path: str, depth: int, given: Iterable[KubeObject] = ()) -> list[KubeObject]:
        """Return the objects of one kustomization; a component changes those that it is ``given``, too."""
        text = self.files(path)
        if text is None or depth > _DEPTH:
            self.unresolved.append(path)
            return list(given)
        file = compose(text, path)
        if depth == 0:
            self.first = file
        root = file.documents[0] if file.documents else mapped({})
        own = object_at(root, file, (0, None))._replace(title="Kustomization/")
        self.atlas.take(own)
        folder = posixpath.dirname(path)
        objects = [*given, *self._resources(root, folder, depth)]
        objects = with_generated(objects, root, folder, file, self.files)
        for entry in items(get(root, "components")):
            inner = self._kustomization(posixpath.normpath(posixpath.join(folder, text_of(entry) or "")))
            objects = self.folder(inner, depth + 1, objects) if inner is not None else objects
        for change in self._patches(own, root, folder):
            objects = [change(found) for found in objects]
        return [_transformed(found, root) for found in objects]

    def _resources(self, root: Node, folder: str, depth: int) -> Iterator[KubeObject]:
        for field in ("resources", "bases"):
            for entry in items(get(root, field)):
                name = text_of(entry) or ""
                path = posixpath.normpath(posixpath.join(folder, name))
                if not is_path(name):
                    self.unresolved.append(name)
                    continue
                inner = self._kustomization(path)
                if inner is not None:
                    yield from self.folder(inner, depth + 1)
                    continue
                text = self.files(path)
                if text is None:
                    self.unresolved.append(path)
                    continue
                for found in objects_of(compose(text, path)):
                    self.atlas.take(found)
                    yield found._replace(rendered=True)

    def _kustomization(self, folder: str) -> str | None:
        """Return the file of the kustomization that a folder is."""
        return next((f"{folder}/{file}" for file in FILES if self.files(f"{folder}/{file}") is not None), None)

    def _patches(self, own: KubeObject, root: Node, folder: str) -> Iterator[Callable[[KubeObject], KubeObject]]:
        for index, entry in enumerate(items(get(root, "patchesStrategicMerge"))):
            name = text_of(entry) or ""
            inline = None if is_path(name) else self.atlas.open(entry, f"patchesStrategicMerge[{index}] ")
            yield from (_Patch(node, None) for node in ([inline] if inline else self._file(name, folder)))
        for field in ("patches", "patchesJson6902"):
            for index, entry in enumerate(items(get(root, field))):
                path = text_of(get(entry, "path"))
                inline = get(entry, "patch")
                prefix = f"{field}[{index}] " + (
                    "op" if (text_of(inline) or "").lstrip().startswith(("-", "[")) else ""
                )
                nodes = self._file(path, folder, own) if path else [self.atlas.open(inline, prefix)]
                yield from (_Patch(node, get(entry, "target")) for node in nodes)

    def _file(self, name: str, folder: str, own: KubeObject | None = None) -> Sequence[Node]:
        """Return the documents of a file with patches."""
        path = posixpath.normpath(posixpath.join(folder, name))
        text = self.files(path)
        if text is None:
            self.unresolved.append(path)
            return ()
        file = compose(text, path)
        for found in objects_of(file):
            self.atlas.take(found)
        for root in file.documents:
            if isinstance(root, SequenceNode) and own is not None:
                self.atlas.take_document(own._replace(file=file, node=root), root, "op")
        return file.documents


class _Patch:
    """One patch of either form, for the objects that it is meant for."""

    def __init__(self, node: Node | None, target: Node | None) -> None:
        self.node = node
        self.target = texts_of(target)

    def __call__(self, found: KubeObject) -> KubeObject:
        if self.node is None or not self._meant(found):
            return found
        if isinstance(self.node, SequenceNode):
            return found._replace(node=applied(found.node, operations(self.node)))
        node = merged(found.node, _without_names(self.node)) or found.node
        return found._replace(node=node)

    def _meant(self, found: KubeObject) -> bool:
        if self.target:
            wanted = (self.target.get("kind"), self.target.get("name"), self.target.get("labelSelector"))
            return _matches(found, *wanted)
        kind, name = text_of(get(self.node, "kind")), text_of(get(self.node, "metadata", "name"))
        return isinstance(self.node, MappingNode) and (kind, name) == (found.kind, found.name)


def _matches(found: KubeObject, kind: str | None, name: str | None, selector: str | None) -> bool:
    """Tell whether an object is a patch's target; names and kinds are anchored regular expressions."""
    import re  # only where a target is given

    for wanted, has in ((kind, found.kind), (name, found.name)):
        if wanted is not None and not re.fullmatch(wanted, has):
            return False
    labels = found.labels()
    pairs = [pair.partition("=") for pair in (selector or "").split(",") if pair]
    return all(labels.get(key.strip()) == value.strip().lstrip("=") for key, _, value in pairs)


def _without_names(node: Node) -> Node:
    """Return a patch without what only says whom it is for."""
    if not isinstance(node, MappingNode):
        return node
    pairs = [
        (key, value)
        for key, value in node.pairs
        if isinstance(key, ScalarNode) and key.value not in {"apiVersion", "kind"}
    ]
    return MappingNode(tuple(pairs), -1, -1, flow=True)


def _transformed(found: KubeObject, root: Node) -> KubeObject:
    """Apply names, namespace, replicas and images."""
    node = found.node
    for entry in items(get(root, "replicas")):
        if text_of(get(entry, "name")) == found.name and get(node, "spec") is not None:
            node = merged(node, mapped({"spec": mapped({"replicas": get(entry, "count")})})) or node
    images = [texts_of(entry) for entry in items(get(root, "images"))]
    node = _with_images(node, {each.get("name", ""): each for each in images}) if images else node
    name = found.name
    if found.kind not in _NAMED:
        name = f"{text_of(get(root, 'namePrefix')) or ''}{name}{text_of(get(root, 'nameSuffix')) or ''}"
    namespace = text_of(get(root, "namespace")) or found.namespace
    title = f"{found.kind}/{name}"
    return found._replace(node=node, name=name, namespace=namespace, title=title, rendered=True)


def _with_images(node: Node, images: Mapping[str, Mapping[str, str]]) -> Node:
    if isinstance(node, SequenceNode):
        return _same(node, [_with_images(item, images) for item in node.items])
    if not isinstance(node, MappingNode):
        return node
    pairs = []
    for key, value in node.pairs:
        new = _with_images(value, images)
        if isinstance(key, ScalarNode) and key.value == "image" and isinstance(value, ScalarNode):
            new = _image(value, images)
        pairs.append((key, new))
    same = all(new is old for (_, new), (_, old) in zip(pairs, node.pairs, strict=True))
    return node if same else MappingNode(tuple(pairs), -1, -1, flow=True)


def _same(node: SequenceNode, inside: list[Node]) -> Node:
    return node if all(new is old for new, old in zip(inside, node.items, strict=True)) else listed(inside)


def _image(value: ScalarNode, images: Mapping[str, Mapping[str, str]]) -> Node:
    name, _, tag = value.value.partition("@")[0].rpartition(":")
    name, tag = (name, tag) if name and "/" not in tag else (value.value, "")
    entry = images.get(name)
    if entry is None:
        return value
    new_name, digest = entry.get("newName", name), entry.get("digest")
    if digest:
        return leaf(f"{new_name}@{digest}")
    new_tag = entry.get("newTag", tag)
    return leaf(f"{new_name}:{new_tag}" if new_tag else new_name)
