"""Changes of what a kustomization makes: in its own patches and files, else as a further patch of the overlay.

A base may serve other overlays, so a value that stands there is not changed there: the overlay gets a JSON patch. Its
operations are those that the same change makes in the object as it comes out.
"""

import json
import posixpath
from collections.abc import Mapping
from typing import Any, Final

from oomedic.edits.change import Change, made
from oomedic.edits.tree import operations
from oomedic.kube.values import kube_value
from oomedic.workloads.reading import Reading
from oomedic.workloads.variables import REFERENCE
from oomedic.yamldoc.insert import events_of, flow, item_added, pair_added
from oomedic.yamldoc.nodes import MappingNode, Node, SequenceNode, get, text_of
from oomedic.yamldoc.splice import Splice, line_end, refused

Files = Mapping[str, str]
RENDERED: Final = "rendered.json"
"""The name of the file in which the object as it comes out is changed, for its operations."""


def is_own(reading: Reading, path: str) -> bool:
    """Tell whether a file belongs to the kustomization itself, rather than to a base that others may use."""
    folder = posixpath.dirname(reading.source.file.path)
    return posixpath.dirname(path) == folder or not folder or path.startswith(f"{folder}/")


def rendered_text(reading: Reading) -> str:
    """Return the object of an engine as it comes out, as a file of its own.

    What its arguments take from a ConfigMap is written out: there is no ConfigMap in that file.
    """
    workload = reading.workload
    found = next(each for each in reading.source.objects if (each.kind, each.name) == (workload.kind, workload.name))
    tree = kube_value(found.node)
    tree["metadata"] = {**tree.get("metadata", {}), "name": found.name}
    return json.dumps(_written_out(tree, workload.container, _from_config_maps(reading)), indent=1)


def _from_config_maps(reading: Reading) -> Mapping[str, str]:
    """Return the variables whose values do not stand in the object itself."""
    found = {}
    for name, variable in reading.command.variables.items():
        spot = reading.source.spot(reading.command.places.get(f"env/{name}"))
        own = spot is not None and spot.found.kind == reading.workload.kind
        if variable.text is not None and not own:
            found[name] = variable.text
    return found


def _written_out(tree: Any, container: str, values: Mapping[str, str]) -> Any:
    """Replace ``$(NAME)`` in the command and arguments of a container."""
    if isinstance(tree, list):
        return [_written_out(each, container, values) for each in tree]
    if not isinstance(tree, dict):
        return tree
    if tree.get("name") != container or not values:
        return {key: _written_out(each, container, values) for key, each in tree.items()}
    lines = {key: tree[key] for key in ("command", "args") if isinstance(tree.get(key), list)}
    return {**tree, **{key: [_replaced(word, values) for word in words] for key, words in lines.items()}}


def _replaced(word: Any, values: Mapping[str, str]) -> Any:
    if not isinstance(word, str):
        return word
    return REFERENCE.sub(lambda match: values.get(match[1] or "", match[0]), word)


def patched(reading: Reading, files: Files, before: str, after: str) -> dict[str, str]:
    """Add the operations between two versions of the object to the overlay.

    Raises:
        InputError: ``edit-refused``.
    """
    found = [change for change in operations(json.loads(before), json.loads(after)) if change["op"] != "test"]
    root = reading.source.file.documents[0]
    if not isinstance(root, MappingNode) or not found:
        raise refused("written-elsewhere")
    target = {"kind": reading.workload.kind, "name": _name(reading.workload.name, root)}
    path, text = reading.source.file.path, reading.source.file.text
    value = {"target": target, "patch": _written(found)}
    spot = reading.source.spot(root)
    if spot is None:
        raise refused("written-elsewhere")
    patches = get(root, "patches")
    if isinstance(patches, SequenceNode) and patches.items:
        splice = item_added(text, patches, value) if patches.flow else _item(text, patches, value)
        change = Change(spot, patches, (splice,), added=(patches.last, events_of(value)))
    else:
        splice = (
            _pair(text, root, value)
            if not root.flow and patches is None
            else pair_added(text, root, "patches", [value])
        )
        added = (("ScalarEvent", "patches"), *events_of([value]))
        change = Change(spot, root, (splice,), added=(root.last, added))
    return {**files, path: made(change).text}


def _name(name: str, root: Node) -> str:
    """Return a name as it is when patches are applied: before the prefix and suffix of the same kustomization."""
    prefix, suffix = (text_of(get(root, key)) or "" for key in ("namePrefix", "nameSuffix"))
    return name.removeprefix(prefix).removesuffix(suffix)


def _written(found: list[dict[str, Any]]) -> str:
    """Write operations as a block of YAML, as people do."""
    lines = []
    for change in found:
        lines += [f"- op: {change['op']}", f"  path: {change['path']}"]
        if "value" in change:
            lines.append(f"  value: {flow(change['value'])}")
    return "\n".join(lines)


def _item(text: str, patches: SequenceNode, value: dict[str, Any]) -> Splice:
    """Add an item in block style."""
    first = patches.items[0]
    start = text.rfind("\n", 0, first.start) + 1
    indent = len(text[start : first.start]) - len(text[start : first.start].lstrip(" "))
    end = line_end(text, patches.items[-1])
    return Splice(end, end, _block(text, value, " " * indent))


def _pair(text: str, root: MappingNode, value: dict[str, Any]) -> Splice:
    end = line_end(text, root.pairs[-1][1])
    newline = "\r\n" if "\r\n" in text else "\n"
    return Splice(end, end, f"{newline}patches:{_block(text, value, '  ')}")


def _block(text: str, value: dict[str, Any], indent: str) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [f"- target: {flow(value['target'])}", "  patch: |-"]
    lines += [f"    {line}" for line in value["patch"].split("\n")]
    return "".join(f"{newline}{indent}{line}" for line in lines)
