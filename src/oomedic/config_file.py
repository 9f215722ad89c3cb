"""The file behind ``--config``, where a ConfigMap of the same manifest holds it.

vLLM reads it as if its keys stood on the command line before everything else (vllm/utils/argparse_utils.py,
``load_config_file``).
"""

import json
import posixpath
from collections.abc import Iterator
from typing import Any, NamedTuple

from oomedic.errors import InputError
from oomedic.given import Given
from oomedic.kube_object import KubeObject, Source
from oomedic.shell_words import Word
from oomedic.workload import EditPath
from oomedic.yamlnodes import MappingNode, Node, ScalarNode, SequenceNode, fields, get, items, pointer_token, text_of
from oomedic.yamltext import compose

_TRUE = frozenset(("true", "yes", "on"))
_FALSE = frozenset(("false", "no", "off"))


class ConfigFile(NamedTuple):
    """A configuration file inside a ConfigMap: its keys as words, and where they are written."""

    words: tuple[Word, ...]
    where: str
    config_map: KubeObject
    key: str

    @property
    def pointer(self) -> str:
        """The pointer to the file's text in the ConfigMap."""
        return f"/data/{pointer_token(self.key)}"

    def edit_path(self, given: Given, source: Source) -> EditPath:
        """Say where a value of the file would be changed."""
        scalar = self.config_map.at(self.pointer)
        return self.config_map.edit_path(source.file, self.pointer, scalar, given.spelling.removeprefix("--"))


def find_config_file(given: Given | None, container: Node, pod: Node | None, source: Source) -> ConfigFile | None:
    """Follow ``--config PATH`` through the volume mounts to a ConfigMap; None where that leads out of the manifest."""
    if given is None or not isinstance(given.value, str):
        return None
    for mount in items(get(container, "volumeMounts")):
        folder = text_of(get(mount, "mountPath")) or ""
        sub_path = text_of(get(mount, "subPath"))
        name = sub_path or posixpath.basename(given.value)
        if given.value != folder if sub_path else posixpath.dirname(given.value) != folder.rstrip("/"):
            continue
        config_map, key = _in_volume(text_of(get(mount, "name")), name, pod, source)
        text = get(config_map.node, "data", key) if config_map else None
        if config_map and isinstance(text, ScalarNode):
            where = f"ConfigMap/{config_map.name} {key}"
            return ConfigFile(tuple(_words(text.value, where)), where, config_map, key)
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


def _words(text: str, where: str) -> Iterator[Word]:
    """Write a configuration file as the words that vLLM makes of it; nothing of one that is no mapping."""
    try:
        documents = compose(text, where).documents
    except InputError:
        return
    for key, value in fields(documents[0] if documents else None).items():
        flag = f"--{key}"
        if isinstance(value, SequenceNode):
            texts = [text_of(item) or "" for item in value.items]
            yield from (Word(part, where=where) for part in ([flag, *texts] if texts else []))
        elif isinstance(value, MappingNode):
            yield from (Word(flag, where=where), Word(json.dumps(plain(value)), where=where))
        elif value.value.lower() in _TRUE and not value.style:
            yield Word(flag, where=where)
        elif value.value.lower() in _FALSE and not value.style:
            yield Word(f"--no-{key}", where=where)
        else:
            yield from (Word(flag, where=where), Word(value.value, where=where))


def plain(node: Node) -> Any:
    """Return a node as JSON would hold it; YAML 1.1 decides what is a number."""
    if isinstance(node, MappingNode):
        return {key: plain(value) for key, value in fields(node).items()}
    if isinstance(node, SequenceNode):
        return [plain(item) for item in node.items]
    text = text_of(node)
    if node.style or text is None:
        return text
    if text.lower() in _TRUE | _FALSE:
        return text.lower() in _TRUE
    try:
        return json.loads(text)
    except ValueError:
        return text
