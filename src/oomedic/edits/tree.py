"""Differences of two trees of plain values: as JSON Patch (RFC 6902), and as what merges into the first."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from oomedic.yamldoc.nodes import pointer_token
from oomedic.yamldoc.rendered import MERGED_BY

_MISSING: Final = object()


def operations(before: Any, after: Any, pointer: str = "") -> Iterator[dict[str, Any]]:
    """Yield the operations that turn one tree into another, each behind a test of what it changes.

    >>> list(operations({"a": [1, 2]}, {"a": [1, 3]}))[-1]
    {'op': 'replace', 'path': '/a/1', 'value': 3}
    """
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in (*before, *(key for key in after if key not in before)):
            yield from _of_key(before, after, key, f"{pointer}/{pointer_token(str(key))}")
    elif _is_list(before) and _is_list(after):
        yield from _of_lists(before, after, pointer)
    elif before != after or type(before) is not type(after):
        yield {"op": "test", "path": pointer, "value": before}
        yield {"op": "replace", "path": pointer, "value": after}


def merging(before: Any, after: Any, *, strategic: bool, key: str = "") -> Any:
    """Return what has to be merged into one tree to make it the other.

    Args:
        before: the tree as it is.
        after: the tree as it shall be.
        strategic: whether lists that Kubernetes merges by a key are merged; else they are replaced as a whole.
        key: under which the trees stand.

    >>> merging({"a": 1, "b": {"c": 2}}, {"a": 1, "b": {"c": 3}}, strategic=False)
    {'b': {'c': 3}}
    """
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        changed = {name: None for name in before if name not in after}
        for name, value in after.items():
            old = before.get(name, _MISSING)
            if old != value or (old is not _MISSING and type(old) is not type(value)):
                changed[name] = value if old is _MISSING else merging(old, value, strategic=strategic, key=str(name))
        return changed
    by = MERGED_BY.get(key) if strategic else None
    if by and _is_list(before) and _is_list(after) and _keyed(before, by) and _keyed(after, by):
        return _merging_lists(before, after, by)
    return after


def _of_key(before: Mapping[str, Any], after: Mapping[str, Any], key: str, pointer: str) -> Iterator[dict[str, Any]]:
    if key not in after:
        yield {"op": "test", "path": pointer, "value": before[key]}
        yield {"op": "remove", "path": pointer}
    elif key not in before:
        yield {"op": "add", "path": pointer, "value": after[key]}
    else:
        yield from operations(before[key], after[key], pointer)


def _of_lists(before: Sequence[Any], after: Sequence[Any], pointer: str) -> Iterator[dict[str, Any]]:
    """Compare lists item by item where they are as long, else by what was put in or taken out."""
    if len(before) == len(after):
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from operations(old, new, f"{pointer}/{index}")
        return
    yield {"op": "test", "path": pointer, "value": before}
    for tag, start, end, first, last in reversed(_steps(before, after)):
        # from the end, so that the numbers of what stands before stay as they are
        common = min(end - start, last - first) if tag == "replace" else 0
        for index in range(end - 1, start + common - 1, -1):
            yield {"op": "remove", "path": f"{pointer}/{index}"}
        for number, index in enumerate(range(first + common, last), start=start + common):
            place = "-" if end == len(before) else number
            yield {"op": "add", "path": f"{pointer}/{place}", "value": after[index]}
        for offset in range(common):
            yield {"op": "replace", "path": f"{pointer}/{start + offset}", "value": after[first + offset]}


def _steps(before: Sequence[Any], after: Sequence[Any]) -> list[tuple[str, int, int, int, int]]:
    from difflib import SequenceMatcher  # only where lists of another length are compared

    old, new = ([json.dumps(item, sort_keys=True) for item in each] for each in (before, after))
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return [step for step in matcher.get_opcodes() if step[0] != "equal"]


def _merging_lists(before: Sequence[Any], after: Sequence[Any], by: str) -> list[Any]:
    known = {item[by]: item for item in before}
    changed: list[Any] = []
    for item in after:
        old = known.pop(item[by], None)
        if old is None:
            changed.append(item)
        elif old != item:
            changed.append({by: item[by], **merging(old, item, strategic=True)})
    return changed + [{by: name, "$patch": "delete"} for name in known]


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _keyed(values: Sequence[Any], by: str) -> bool:
    return all(isinstance(item, Mapping) and by in item for item in values)
