"""Change where a pod may run, in the text of its manifest: labels that it selects, taints that it tolerates.

As with every edit, the text is read again afterwards, and nothing but what was intended may differ.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from oomedic.errors import InputError
from oomedic.kube.objects import KubeObject, list_key, objects_of
from oomedic.kube.taint import Taint, untolerated
from oomedic.observed.yaml_trees import trees
from oomedic.workloads.workload import Workload
from oomedic.yamldoc.nodes import MappingNode, Node, ScalarNode, SequenceNode, fields, get, items, texts_of, uses
from oomedic.yamldoc.splice import Splice, apply_splices, inside, refused, requoted
from oomedic.yamldoc.text import YamlFile, compose

_CONTAINERS: Final = re.compile(r"/(?:init)?[cC]ontainers/\d+.*$")
_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
_WORDS: Final = frozenset(("true", "false", "yes", "no", "on", "off", "null", "y", "n"))

Labels = Mapping[str, str]
Toleration = Mapping[str, str]


class _Pod(NamedTuple):
    """A pod spec in a text."""

    file: YamlFile
    found: KubeObject
    pointer: str
    spec: MappingNode


def select_nodes(text: str, workload: Workload, labels: Labels) -> str:
    """Set labels of the nodeSelector; those that stand there already stay.

    Raises:
        InputError: ``edit-refused``.
    """
    for key, label in labels.items():
        pod = _pod(text, workload)
        selector = get(pod.spec, "nodeSelector")
        if texts_of(selector).get(key) == label:
            continue
        expected = _changed(text, pod, lambda spec, key=key, label=label: _with_label(spec, key, label))
        text = _proved(text, [_set_label(pod, selector, key, label)], expected, workload)
    return text


def demand_values(text: str, workload: Workload, labels: Labels) -> str:
    """Make required In terms of the node affinity ask for these labels' values, where they ask for others.

    Raises:
        InputError: ``edit-refused``.
    """
    pod = _pod(text, workload)
    required = get(pod.spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    splices = [
        _only_value(pod, values, labels[key])
        for term in items(get(required, "nodeSelectorTerms"))
        for key, values in _foreign_values(term, labels)
    ]
    if not splices:
        return text
    expected = _changed(text, pod, lambda spec: _with_values(spec, labels))
    return _proved(text, splices, expected, workload)


def _foreign_values(term: Node, labels: Labels) -> Iterator[tuple[str, Node | None]]:
    """Yield the keys and value lists of In expressions that do not ask for these labels."""
    for expression in items(get(term, "matchExpressions")):
        written, values = texts_of(expression), get(expression, "values")
        key = written.get("key", "")
        asked = [item.value for item in items(values) if isinstance(item, ScalarNode)]
        if written.get("operator") == "In" and key in labels and labels[key] not in asked:
            yield key, values


def tolerate(text: str, workload: Workload, taints: Sequence[Taint]) -> str:
    """Add a toleration for each taint that the pod does not tolerate.

    Raises:
        InputError: ``edit-refused``.
    """
    for taint in taints:
        pod = _pod(text, workload)
        listed = get(pod.spec, "tolerations")
        if untolerated([taint], [texts_of(each) for each in items(listed)]) is None:
            continue
        toleration = _toleration(taint)
        expected = _changed(text, pod, lambda spec, added=toleration: _with_toleration(spec, added))
        text = _proved(text, [_add_item(pod, listed, toleration)], expected, workload)
    return text


def _pod(text: str, workload: Workload) -> _Pod:
    file = compose(text, workload.unit)
    document, item, container = workload.place or (0, None, "")
    pointer = _CONTAINERS.sub("", container)
    for found in objects_of(file):
        same = (found.document, found.item, found.kind, found.name) == (document, item, workload.kind, workload.name)
        spec = found.at(pointer) if same and pointer != container else None
        if isinstance(spec, MappingNode) and spec.pairs:
            if uses(file.documents[document], spec) != 1:
                raise refused("shared")
            return _Pod(file, found, pointer, spec)
    raise refused("not-found")


def _set_label(pod: _Pod, selector: Node | None, key: str, label: str) -> Splice:
    """Replace a label, put one before the others, or write a nodeSelector before the pod spec's first field."""
    text = pod.file.text
    if isinstance(selector, MappingNode) and selector.pairs:
        if uses(pod.file.documents[pod.found.document], selector) != 1:
            raise refused("shared")
        leaf = fields(selector).get(key)
        if isinstance(leaf, ScalarNode) and leaf.value:
            if not leaf.style and _scalar(label) != label:
                return requoted(text, leaf, label)
            return inside(text, leaf, 0, len(leaf.value), label)
        if selector.flow:
            return _insert(text, selector.start + 1, f"{_quoted(key)}: {_quoted(label)}, ")
        return _insert(text, selector.start, f"{_scalar(key)}: {_scalar(label)}", _indent(text, selector.start))
    if selector is not None:
        raise refused("empty")
    if pod.spec.flow:
        return _insert(text, pod.spec.start + 1, f'"nodeSelector": {{{_quoted(key)}: {_quoted(label)}}}, ')
    indent = _indent(text, pod.spec.start)
    lines = f"nodeSelector:{_newline(text)}{indent}  {_scalar(key)}: {_scalar(label)}"
    return _insert(text, pod.spec.start, lines, indent)


def _add_item(pod: _Pod, listed: Node | None, toleration: Toleration) -> Splice:
    text = pod.file.text
    flow = f"{{{', '.join(f'{_quoted(key)}: {_quoted(value)}' for key, value in toleration.items())}}}"
    plain = f"{{{', '.join(f'{key}: {_scalar(value)}' for key, value in toleration.items())}}}"
    if isinstance(listed, SequenceNode):
        if uses(pod.file.documents[pod.found.document], listed) != 1:
            raise refused("shared")
        if listed.flow:
            return _insert(text, listed.start + 1, flow + (", " if listed.items else ""))
        return _insert(text, listed.start, f"- {plain}", _indent(text, listed.start))
    if listed is not None:
        raise refused("list-style")
    if pod.spec.flow:
        return _insert(text, pod.spec.start + 1, f'"tolerations": [{flow}], ')
    indent = _indent(text, pod.spec.start)
    return _insert(text, pod.spec.start, f"tolerations:{_newline(text)}{indent}- {plain}", indent)


def _only_value(pod: _Pod, values: Node | None, label: str) -> Splice:
    """Replace a whole list of values by one."""
    if not isinstance(values, SequenceNode) or uses(pod.file.documents[pod.found.document], values) != 1:
        raise refused("list-style")
    end = values.end if values.flow else values.items[-1].end
    return Splice(values.start, end, f"[{_quoted(label)}]" if values.flow else f"- {_scalar(label)}")


def _insert(text: str, at: int, written: str, indent: str | None = None) -> Splice:
    """Write before what stands there: on lines of its own where ``indent`` is given."""
    return Splice(at, at, written if indent is None else f"{written}{_newline(text)}{indent}")


def _indent(text: str, at: int) -> str:
    """Return blanks up to the column of a node, which may follow dashes."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return re.sub(r"[^\t]", " ", line)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _scalar(value: str) -> str:
    """Write a text as YAML: plain where it stays a text, in quotes otherwise."""
    return value if _PLAIN.fullmatch(value) and value.lower() not in _WORDS else _quoted(value)


def _quoted(value: str) -> str:
    return json.dumps(value)


def _toleration(taint: Taint) -> Toleration:
    if taint.value:
        return {"key": taint.key, "operator": "Equal", "value": taint.value, "effect": taint.effect}
    return {"key": taint.key, "operator": "Exists", "effect": taint.effect}


def _with_label(spec: dict[str, Any], key: str, label: str) -> None:
    spec["nodeSelector"] = {**(spec.get("nodeSelector") or {}), key: label}


def _with_values(spec: dict[str, Any], labels: Labels) -> None:
    required = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    for term in required["nodeSelectorTerms"]:
        for expression in term.get("matchExpressions") or ():
            label = labels.get(expression.get("key"))
            if expression.get("operator") == "In" and label is not None and label not in expression["values"]:
                expression["values"] = [label]


def _with_toleration(spec: dict[str, Any], added: Toleration) -> None:
    spec["tolerations"] = [dict(added), *(spec.get("tolerations") or [])]


def _changed(text: str, pod: _Pod, change: Any) -> list[Any]:
    """Return the documents as they are to be."""
    documents = trees(text, pod.file.path)
    tree = documents[pod.found.document]
    if pod.found.item is not None:
        tree = tree[list_key(tree["kind"]) or "items"][pod.found.item]
    for token in pod.pointer.split("/")[1:]:
        tree = tree[int(token)] if isinstance(tree, list) else tree[token]
    change(tree)
    return documents


def _proved(text: str, splices: Iterable[Splice], expected: list[Any], workload: Workload) -> str:
    edited = apply_splices(text, splices)
    try:
        after = trees(edited, workload.unit)
    except InputError:
        raise refused("proof") from None
    if after != expected:
        raise refused("proof")
    return edited
