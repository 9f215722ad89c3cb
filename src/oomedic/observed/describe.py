"""``kubectl describe`` read back into the objects that it describes.

A description is an outline: a key, a colon, a value, and below it, further to the right, what belongs to it. Pods
become Pod objects again, so that the readers of manifests and of statuses serve here too; the events at the end are
rows of a table.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from oomedic.observed.described_pod import pod_of
from oomedic.observed.facts import Happening, NodeState, Observed, PodState
from oomedic.observed.kube_events import rows_of_description
from oomedic.observed.outline import Entry, outline
from oomedic.observed.pods import pod_state

_MESSAGE: Final = re.compile(r"(\s{2,20})Message:\s")
_LONGEST_MESSAGE: Final = 200
_NAME: Final = re.compile(r"Name:\s+\S")
_PRESSURE: Final = re.compile(r"(\w+Pressure)\s+True\b")


class Described(NamedTuple):
    """What a file of descriptions holds: facts, and the pods as objects, for the reader of manifests."""

    observed: Observed
    pods: tuple[Mapping[str, Any], ...]


def read_description(text: str, path: str) -> Described:
    """Read descriptions of pods, nodes and what owns pods; several may follow each other."""
    observed, pods = Observed(), []
    for lines, first in _objects(_with_messages_indented(text.splitlines())):
        entries = outline(lines, first)
        found = {entry.key: entry for entry in entries}
        observed = observed.plus(Observed(happened=_happened(found.get("Events"), lines, path, first)))
        if "Containers" in found:
            tree, places = pod_of(found)
            pods.append(tree)
            observed = observed.plus(Observed(pods=(_placed(pod_state(tree, ""), places, path),)))
        elif "Allocatable" in found or "Taints" in found:
            observed = observed.plus(Observed(nodes=(_node(found, path),)))
    return Described(observed, tuple(pods))


def _objects(lines: Sequence[str]) -> Iterator[tuple[Sequence[str], int]]:
    """Cut a file at the names of objects; each part comes with the number of its first line."""
    starts = [number for number, line in enumerate(lines) if _NAME.match(line)] or [0]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield lines[start:end], start + 1


def _with_messages_indented(lines: Sequence[str]) -> list[str]:
    """Move the further lines of a container's message to the right: kubectl prints them as they are, at the left."""
    mended = list(lines)
    for number, line in enumerate(lines):
        message = _MESSAGE.match(line)
        if message is None:
            continue
        ended = re.compile(rf"{message[1]}(?:Exit Code|Signal|Started|Finished):")
        following = lines[number + 1 : number + 1 + _LONGEST_MESSAGE]
        length = next((place for place, later in enumerate(following) if ended.match(later)), 0)
        for place in range(number + 1, number + 1 + length):
            mended[place] = f"{message[1]}  {lines[place]}"
    return mended


def _happened(events: Entry | None, lines: Sequence[str], path: str, first: int) -> tuple[Happening, ...]:
    if events is None:
        return ()
    begin = events.line - first
    return rows_of_description(lines[begin + 1 :], path, events.line + 1)


def _placed(pod: PodState, places: Mapping[str, int], path: str) -> PodState:
    """Put the lines of the description in the place of the pointers into the object."""

    def line_of(pointer: str) -> str:
        while pointer and pointer not in places:
            pointer = pointer.rpartition(".")[0]
        return f"{path}:{places.get(pointer, 1)}"

    containers = (
        container._replace(
            where=line_of(container.where),
            ends=tuple(end._replace(where=line_of(end.where)) for end in container.ends),
        )
        for container in pod.containers
    )
    return pod._replace(where=line_of(pod.where), containers=tuple(containers))


def _node(found: Mapping[str, Entry], path: str) -> NodeState:
    labels = found.get("Labels")
    allocatable = found.get("Allocatable")
    conditions = found.get("Conditions")
    pressures = (_PRESSURE.match(entry.text) for entry in conditions.children) if conditions else ()
    return NodeState(
        found["Name"].value if "Name" in found else "",
        f"{path}:{labels.line if labels else 1}",
        dict(_labels(labels)),
        {entry.key: entry.value for entry in allocatable.children} if allocatable else {},
        tuple(pressure[1] for pressure in pressures if pressure),
    )


def _labels(labels: Entry | None) -> Iterator[tuple[str, str]]:
    """Yield labels: the first stands beside the key, the others below each other."""
    for text in (labels.value, *(entry.text for entry in labels.children)) if labels else ():
        name, separator, value = text.strip().partition("=")
        if separator:
            yield name, value
