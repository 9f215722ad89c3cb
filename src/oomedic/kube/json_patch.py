"""JSON Patch (RFC 6902) between two versions of an object: every change tests the old value first.

A test makes the API server refuse the whole request when somebody else changed the same place meanwhile, so that no
edit is lost.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

Operation = dict[str, Any]


def operations(before: Any, after: Any, pointer: str = "") -> tuple[Operation, ...]:
    """Return what turns one version into the other, place by place."""
    return tuple(_operations(before, after, pointer))


def escaped(key: str) -> str:
    """Return a key as it stands in a pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def applied(tree: Any, patch: Sequence[Mapping[str, Any]]) -> Any:
    """Return the tree with the operations applied.

    Raises:
        ValueError: when a test does not hold or a place is not there.
    """
    root = [deepcopy(tree)]
    for operation in patch:
        _apply(root, operation)
    return root[0]


def _operations(before: Any, after: Any, pointer: str) -> Iterator[Operation]:
    if _same(before, after):
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        yield from _of_mappings(before, after, pointer)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _operations(old, new, f"{pointer}/{number}")
    else:
        # lists of another length are replaced whole: a place in the middle is known by its number alone
        yield {"op": "test", "path": pointer, "value": before}
        yield {"op": "replace", "path": pointer, "value": after}


def _of_mappings(before: Mapping[str, Any], after: Mapping[str, Any], pointer: str) -> Iterator[Operation]:
    for key, old in before.items():
        place = f"{pointer}/{escaped(key)}"
        if key in after:
            yield from _operations(old, after[key], place)
        else:
            yield {"op": "test", "path": place, "value": old}
            yield {"op": "remove", "path": place}
    for key, new in after.items():
        if key not in before:
            yield {"op": "add", "path": f"{pointer}/{escaped(key)}", "value": new}


def _same(one: Any, other: Any) -> bool:
    """Compare as JSON does: true is not 1."""
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def _apply(root: list[Any], operation: Mapping[str, Any]) -> None:
    holder: Any = root
    keys: list[Any] = [0]
    for part in operation["path"].split("/")[1:]:
        holder, key = holder[keys[-1]], part.replace("~1", "/").replace("~0", "~")
        keys.append(int(key) if isinstance(holder, list) else key)
    key, there = keys[-1], _is_there(holder, keys[-1])
    if operation["op"] != "add" and not there:
        raise ValueError(f"nothing at {operation['path']}")
    if operation["op"] == "test" and not _same(holder[key], operation["value"]):
        raise ValueError(f"another value at {operation['path']}")
    if operation["op"] == "remove":
        del holder[key]
    elif operation["op"] in {"add", "replace"}:
        holder[key] = deepcopy(operation["value"])


def _is_there(holder: Any, key: Any) -> bool:
    return 0 <= key < len(holder) if isinstance(holder, list) else key in holder
