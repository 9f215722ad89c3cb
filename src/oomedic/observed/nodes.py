"""A node: its labels, which name the card, its GPUs, and the pressures that it reports."""

from collections.abc import Mapping
from typing import Any

from oomedic.observed.facts import NodeState
from oomedic.observed.leaves import at, mappings, text, texts


def node_state(tree: Mapping[str, Any], where: str) -> NodeState:
    """Read a Node object; ``where`` is a prefix for the pointers into it."""
    metadata, status = at(tree, "metadata"), at(tree, "status")
    pressures = (
        text(condition, "type") or ""
        for condition in mappings(status, "conditions")
        if text(condition, "status") == "True" and (text(condition, "type") or "").endswith("Pressure")
    )
    return NodeState(
        text(metadata, "name") or "",
        f"{where}metadata.labels",
        texts(metadata, "labels"),
        texts(status, "allocatable"),
        tuple(pressures),
    )
