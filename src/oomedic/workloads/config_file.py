"""Files that a container sees through a ConfigMap of the same manifest: vLLM's ``--config``, and scripts.

vLLM reads its file as if the keys stood on the command line before everything else (vllm/utils/argparse_utils.py,
``load_config_file``).
"""

import posixpath
from typing import NamedTuple

from oomedic.kube.objects import KubeObject
from oomedic.workloads.source import Source
from oomedic.yamldoc.nodes import Node, ScalarNode, get, items, text_of


class MountedFile(NamedTuple):
    """A file that is a key of a ConfigMap."""

    config_map: KubeObject
    key: str
    leaf: ScalarNode

    @property
    def where(self) -> str:
        """Where a person finds it."""
        return f"{self.config_map.title} {self.key}"


def mounted_file(path: str, container: Node, pod: Node | None, source: Source) -> MountedFile | None:
    """Follow a path through the volume mounts to a ConfigMap; None where that leads out of the manifest."""
    for mount in items(get(container, "volumeMounts")):
        folder = text_of(get(mount, "mountPath")) or ""
        sub_path = text_of(get(mount, "subPath"))
        name = sub_path or posixpath.basename(path)
        if path != folder if sub_path else posixpath.dirname(path) != folder.rstrip("/"):
            continue
        config_map, key = _in_volume(text_of(get(mount, "name")), name, pod, source)
        leaf = get(config_map.node, "data", key) if config_map else None
        if config_map and isinstance(leaf, ScalarNode):
            return MountedFile(config_map, key, leaf)
    return None


def mounted_module(name: str, container: Node, pod: Node | None, source: Source) -> MountedFile | None:
    """Return the Python module that an import path names, where a ConfigMap of the manifest holds it."""
    file = f"{name.rpartition('.')[2]}.py"
    for mount in items(get(container, "volumeMounts")):
        folder = text_of(get(mount, "mountPath")) or ""
        path = folder if text_of(get(mount, "subPath")) else posixpath.join(folder, file)
        found = mounted_file(path, container, pod, source) if posixpath.basename(path) == file else None
        if found is not None:
            return found
    return None


def _in_volume(volume: str | None, file: str, pod: Node | None, source: Source) -> tuple[KubeObject | None, str]:
    for candidate in items(get(pod, "volumes")):
        if text_of(get(candidate, "name")) == volume:
            for item in items(get(candidate, "configMap", "items")):
                if text_of(get(item, "path")) == file:
                    file = text_of(get(item, "key")) or file
                    break
            return source.find("ConfigMap", text_of(get(candidate, "configMap", "name"))), file
    return None, file
