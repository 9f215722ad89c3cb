"""Kubernetes objects as ``kubectl get -o yaml`` or ``-o json`` writes them: pods, nodes, events, and Lists of them."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from oomedic.errors import InputError
from oomedic.observed.facts import Observed
from oomedic.observed.kube_events import happening
from oomedic.observed.nodes import node_state
from oomedic.observed.pods import pod_state

Tree = Mapping[str, Any]
"""An object with plain values below it; a leaf is a text, a number, a flag or None."""


def read_objects(text: str, path: str) -> Observed:
    """Return what the pods, nodes and events of a file tell; other kinds say nothing here.

    Raises:
        InputError: ``yaml-…`` with the place.
    """
    observed = Observed()
    for tree, pointer in objects_of(text, path):
        observed = observed.plus(observed_of(tree, f"{path}:{pointer}" if pointer else f"{path}:"))
    return observed


def observed_of(tree: Tree, where: str) -> Observed:
    """Return what one object tells; ``where`` is a prefix for the pointers into it."""
    kind = tree.get("kind")
    if kind == "Pod":
        return Observed(pods=(pod_state(tree, where),))
    if kind == "Node":
        return Observed(nodes=(node_state(tree, where),))
    if kind == "Event":
        return Observed(happened=(happening(tree, where),))
    return Observed()


def objects_of(text: str, path: str) -> Iterator[tuple[Tree, str]]:
    """Yield every object of a file with the prefix of its pointers: "" or ``items[2].``.

    Raises:
        InputError: ``yaml-…`` with the place.
    """
    for document in _documents(text, path):
        items = document.get("items")
        if not isinstance(items, list | tuple):
            yield document, ""
            continue
        listed = str(document.get("kind", "")).removesuffix("List")
        for number, item in enumerate(items):
            if isinstance(item, Mapping):
                yield {"kind": listed, **item}, f"items[{number}]."


def _documents(text: str, path: str) -> Iterator[Tree]:
    if text.lstrip().startswith("{"):
        try:
            documents = [json.loads(text)]
        except (ValueError, RecursionError) as error:
            documents = _json_lines(text)
            if not documents:
                raise InputError("json-unreadable", path=path, reason=str(error)) from error
    else:
        from oomedic.observed.yaml_trees import trees  # YAML is loaded only where a file is YAML

        documents = trees(text, path)
    yield from (document for document in documents if isinstance(document, Mapping))


def _json_lines(text: str) -> list[Any]:
    """Read one object per line, as ``kubectl get -o json --watch`` and collectors write them; none when one fails."""
    try:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError):
        return []
