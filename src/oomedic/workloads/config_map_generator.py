"""ConfigMaps that a kustomization makes from files, from files of variables, and from literals.

The hash that kustomize puts behind their names is left out: references are rewritten together with the name.
"""

import posixpath
from collections.abc import Callable, Iterator
from typing import Final

from oomedic.kube.objects import KubeObject, object_at
from oomedic.yamldoc.nodes import Node, get, items, text_of
from oomedic.yamldoc.rendered import leaf, mapped, merged
from oomedic.yamldoc.text import YamlFile

_KIND: Final = "ConfigMap"

Files = Callable[[str], str | None]
"""Returns the text of a file by its path, None where there is none."""


def with_generated(
    objects: list[KubeObject], root: Node, folder: str, file: YamlFile, files: Files
) -> list[KubeObject]:
    """Add what a kustomization generates; ``behavior`` merges into or replaces what its bases have under a name."""
    for generator in items(get(root, "configMapGenerator")):
        name = text_of(get(generator, "name")) or ""
        data: Node = mapped(dict(_entries(generator, folder, files)))
        before = next((each for each in objects if (each.kind, each.name) == (_KIND, name)), None)
        if before is not None and text_of(get(generator, "behavior")) == "merge":
            data = merged(get(before.node, "data"), data) or data
        node = mapped({"apiVersion": "v1", "kind": _KIND, "metadata": mapped({"name": name}), "data": data})
        made = object_at(node, file, (0, None))._replace(rendered=True)
        objects = [each for each in objects if each is not before] + [made]
    return objects


def _entries(generator: Node, folder: str, files: Files) -> Iterator[tuple[str, Node | str | None]]:
    """Yield keys and values; a later one of the same key wins."""
    for entry in items(get(generator, "files")):
        key, has_key, name = (text_of(entry) or "").partition("=")
        path = posixpath.normpath(posixpath.join(folder, name if has_key else key))
        yield key if has_key else posixpath.basename(path), files(path)
    for name in env_files(generator):
        for line in (files(posixpath.normpath(posixpath.join(folder, name))) or "").splitlines():
            key, has_value, value = line.strip().partition("=")
            if has_value and not key.startswith("#"):
                yield key, value
    for entry in items(get(generator, "literals")):
        key, _, value = (text_of(entry) or "").partition("=")
        yield key, leaf(value, entry)


def env_files(generator: Node) -> list[str]:
    """Return the files of variables that a generator reads."""
    return [text for each in (get(generator, "env"), *items(get(generator, "envs"))) if (text := text_of(each))]
