"""Nodes that nobody wrote: what a chart or a controller makes of what somebody did write.

A leaf that is handed through unchanged is the very node of the manifest, so that a change finds its place. A leaf that
is made from another one (a switch that becomes a flag) says so.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from oomedic.yamldoc.nodes import MappingNode, Node, ScalarNode, SequenceNode, fields, items, text_of

_TRUE: Final = frozenset(("true", "yes", "on"))
_FALSE: Final = frozenset(("false", "no", "off"))
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
MERGED_BY: Final = {
    "containers": "name",
    "initContainers": "name",
    "env": "name",
    "volumes": "name",
    "volumeMounts": "mountPath",
    "ports": "containerPort",
    "imagePullSecrets": "name",
    "resourceClaims": "name",
}
"""Lists whose items Kubernetes' strategic merge puts together by a key; all others are replaced as a whole."""


def leaf(value: str, made_from: Node | None = None) -> ScalarNode:
    """Return a leaf with a text of its own."""
    return ScalarNode(value, -1, -1, '"', -1, None, made_from)


def listed(nodes: Iterable[Node]) -> SequenceNode:
    """Return a list of nodes."""
    return SequenceNode(tuple(nodes), -1, -1, flow=True)


def mapped(values: Mapping[str, Node | str | None]) -> MappingNode:
    """Return a mapping; what is None is left out, texts become leaves."""
    pairs = ((leaf(key), leaf(value) if isinstance(value, str) else value) for key, value in values.items())
    return MappingNode(tuple((key, value) for key, value in pairs if value is not None), -1, -1, flow=True)


def nested(path: str, value: Node | str | None) -> Node | None:
    """Return a value inside mappings of a dotted path, None for no value.

    >>> from oomedic.yamldoc.nodes import get, text_of
    >>> text_of(get(nested("a.b", "x"), "a", "b"))
    'x'
    """
    for key in reversed(path.split(".")):
        value = None if value is None else mapped({key: value})
    return value if not isinstance(value, str) else None


def entries(variables: Node | None) -> list[Node]:
    """Return a mapping of variables as the list that ``env`` takes."""
    return [mapped({"name": name, "value": value}) for name, value in fields(variables).items()]


def variable(name: str, value: Node | str) -> Node:
    """Return one variable as an entry of ``env``."""
    return mapped({"name": name, "value": value})


def merged(base: Node | None, over: Node | None, key: str = "") -> Node | None:
    """Merge as Kubernetes' strategic merge does: mappings by key, known lists by their items' key, else the later one.

    A null removes what the base has, and so does an item with ``$patch: delete``.
    """
    if base is None or over is None:
        return base if over is None else over
    if isinstance(base, MappingNode) and isinstance(over, MappingNode):
        together = {name: (name_node, value) for name_node, name, value in _pairs(base)}
        for name_node, name, value in _pairs(over):
            before = together.get(name)
            if text_of(value) is None and isinstance(value, ScalarNode) and not value.style:
                together.pop(name, None)
            else:
                node = merged(before[1] if before else None, value, name)
                together[name] = (name_node, value if node is None else node)
        return MappingNode(tuple(together.values()), -1, -1, flow=True)
    if isinstance(base, SequenceNode) and isinstance(over, SequenceNode) and key in MERGED_BY:
        return _merged_lists(base, over, MERGED_BY[key])
    return over


def _pairs(node: MappingNode) -> Iterator[tuple[Node, str, Node]]:
    for name, value in fields(node).items():
        written = next((key for key, _ in node.pairs if isinstance(key, ScalarNode) and key.value == name), None)
        yield written or leaf(name), name, value


def _merged_lists(base: SequenceNode, over: SequenceNode, key: str) -> Node:
    together: dict[str, Node] = {}
    for number, item in enumerate(base.items):
        together[text_of(fields(item).get(key)) or f"#{number}"] = item
    for number, item in enumerate(over.items):
        name = text_of(fields(item).get(key)) or f"+{number}"
        if text_of(fields(item).get("$patch")) == "delete":
            together.pop(name, None)
        else:
            together[name] = merged(together.get(name), item) or item
    return listed(together.values())


def flags(node: Node | None, spelled: Callable[[str], str]) -> list[Node]:
    """Return a mapping of settings as words of a command line; ``spelled`` makes the flag of a key."""
    words: list[Node] = []
    for name, value in fields(node).items():
        flag = spelled(name)
        switch = text_of(value)
        if isinstance(value, SequenceNode):
            words += [leaf(flag, value), *value.items] if value.items else []
        elif isinstance(value, MappingNode):
            words += [leaf(flag, value), leaf(json.dumps(plain(value)), value)]
        elif switch is not None and not value.style and switch.lower() in _TRUE:
            words.append(leaf(flag, value))
        elif switch is not None and not value.style and switch.lower() in _FALSE:
            words.append(leaf(f"--no-{flag.removeprefix('--')}", value))
        elif switch is not None:
            words += [leaf(flag, value), value]
    return words


def dashed(key: str) -> str:
    """Spell a key of a configuration file as a flag.

    >>> dashed("max_model_len"), dashed("max-model-len"), dashed("--max-model-len")
    ('--max-model-len', '--max-model-len', '--max-model-len')
    """
    return f"--{key.removeprefix('--').replace('_', '-')}"


def kebab(key: str) -> str:
    """Spell a key in camel case as a flag.

    >>> kebab("maxModelLen"), kebab("enableLoRA")
    ('--max-model-len', '--enable-lo-ra')
    """
    return f"--{_HUMP.sub('-', key).lower().replace('_', '-')}"


def plain(node: Node | None) -> Any:
    """Return a node as JSON would hold it; YAML 1.1 decides what is a number."""
    if isinstance(node, MappingNode):
        return {key: plain(value) for key, value in fields(node).items()}
    if isinstance(node, SequenceNode):
        return [plain(item) for item in node.items]
    text = text_of(node)
    if node is None or node.style or text is None:
        return text
    if text.lower() in _TRUE | _FALSE:
        return text.lower() in _TRUE
    try:
        return json.loads(text)
    except ValueError:
        return text


def is_true(node: Node | None) -> bool:
    """Tell whether a switch of a chart is on: as a boolean, or as the text of one."""
    return (text_of(node) or "").lower() in _TRUE


def is_false(node: Node | None) -> bool:
    """Tell whether a switch of a chart is off, rather than not there."""
    return (text_of(node) or "").lower() in _FALSE


def joined(*lists: Node | None) -> SequenceNode:
    """Return the items of several lists as one list."""
    return listed(item for each in lists for item in items(each))
