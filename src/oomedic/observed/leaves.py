"""Leaves of Kubernetes objects, whether they come from YAML (texts), from JSON (numbers) or from an API client."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

_NOTHING: Final[Mapping[str, Any]] = {}


def at(tree: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    """Follow keys from mapping to mapping; an empty one where nothing is there."""
    for key in keys:
        inside = tree.get(key)
        tree = inside if isinstance(inside, Mapping) else _NOTHING
    return tree


def mappings(tree: Mapping[str, Any], key: str) -> Iterator[Mapping[str, Any]]:
    """Yield the mappings of a list."""
    listed = tree.get(key)
    if isinstance(listed, list | tuple):
        yield from (item for item in listed if isinstance(item, Mapping))


def text(tree: Mapping[str, Any], key: str) -> str | None:
    """Return a leaf as text, None where it is missing or empty."""
    leaf = tree.get(key)
    return None if leaf is None or isinstance(leaf, Mapping | list | tuple) else str(leaf) or None


def number(tree: Mapping[str, Any], key: str) -> int | None:
    """Return a leaf that is a whole number."""
    leaf = text(tree, key)
    try:
        return None if leaf is None else int(leaf)
    except ValueError:
        return None


def texts(tree: Mapping[str, Any], key: str) -> dict[str, str]:
    """Return the leaves of a mapping as texts."""
    inside = at(tree, key)
    return {name: found for name in inside if (found := text(inside, name)) is not None}


def seconds_between(start: str | None, end: str | None) -> int | None:
    """Return the whole seconds between two times as Kubernetes writes them, None where one cannot be read.

    >>> seconds_between("2026-10-12T09:00:00Z", "2026-10-12T09:01:05Z")
    65
    """
    from datetime import datetime  # only where a container has ended

    if start is None or end is None:
        return None
    try:
        return round((datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None
