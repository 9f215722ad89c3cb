"""The environment of a container: literal values, and those of ConfigMaps that stand in the same manifest.

What comes from Secrets and fields is never read: it is known to exist, no more.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from oomedic.arguments.shell_words import Variable
from oomedic.redaction import is_secret_name
from oomedic.workloads.source import Source
from oomedic.yamldoc.nodes import Node, ScalarNode, fields, get, items, text_of

REFERENCE: Final = re.compile(r"\$\$|\$\(([A-Za-z_][\w.-]*)\)")
"""``$(VAR)`` and ``$$``, which Kubernetes replaces before anything runs."""
_LONGEST: Final = 2**16
_NAME: Final = re.compile(r"[A-Za-z_][\w.-]*")


class Environment(NamedTuple):
    """Variables by name, and the leaf that holds the value of each."""

    variables: dict[str, Variable]
    leaves: dict[str, ScalarNode]


def read_environment(container: Node, source: Source) -> Environment:
    """Read a container's variables; a later entry of a name wins, and ``env`` wins over ``envFrom``."""
    environment = Environment({}, {})
    for key, node in _from_config_maps(container, source):
        _take(environment, key, node, expand=False)
    for entry in items(get(container, "env")):
        name = text_of(get(entry, "name"))
        if name is None:
            continue
        value = get(entry, "value")
        if value is None and "valueFrom" in fields(entry):
            referred = _referred(entry, source)
            if referred is None:
                environment.variables[name] = Variable(None, f"env/{name}")
            else:
                _take(environment, name, referred, expand=False)
        else:
            _take(environment, name, value, expand=True)
    return environment


def expanded(text: str, variables: Mapping[str, Variable]) -> str | None:
    """Replace ``$(VAR)`` as the kubelet does: what it does not know stays, ``$$`` becomes ``$``."""
    unknown = False

    def value(match: re.Match[str]) -> str:
        nonlocal unknown
        if match[1] is None:
            return "$"
        variable = variables.get(match[1])
        if variable is None:
            return match[0]
        unknown = unknown or variable.text is None
        return variable.text or ""

    found = REFERENCE.sub(value, text)
    return None if unknown or len(found) > _LONGEST else found


def _take(environment: Environment, name: str, node: Node | None, *, expand: bool) -> None:
    variables, leaves = environment
    leaves.pop(name, None)
    if not isinstance(node, ScalarNode):
        variables[name] = Variable("" if node is None else None, f"env/{name}")
    elif is_secret_name(name):
        variables[name] = Variable(None, f"env/{name}")
    else:
        text = expanded(node.value, variables) if expand else node.value
        leaves[name] = node
        variables[name] = Variable(text, f"env/{name}", 0 if text == node.value else None)


def _from_config_maps(container: Node, source: Source) -> Iterator[tuple[str, Node]]:
    """Yield the variables of ``envFrom``; keys that are no names of variables are skipped, as the kubelet does."""
    for entry in items(get(container, "envFrom")):
        config_map = source.find("ConfigMap", text_of(get(entry, "configMapRef", "name")))
        prefix = text_of(get(entry, "prefix")) or ""
        for key, value in fields(get(config_map.node, "data") if config_map else None).items():
            if _NAME.fullmatch(prefix + key):
                yield prefix + key, value


def _referred(entry: Node, source: Source) -> Node | None:
    reference = get(entry, "valueFrom", "configMapKeyRef")
    config_map = source.find("ConfigMap", text_of(get(reference, "name")))
    key = text_of(get(reference, "key"))
    return fields(get(config_map.node, "data")).get(key) if config_map and key else None
