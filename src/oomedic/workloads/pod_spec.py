"""Which containers of a pod are engines, whatever object the pod is part of."""

from collections.abc import Iterator
from typing import NamedTuple

from oomedic.arguments.reader import read_argv
from oomedic.kube.objects import KubeObject
from oomedic.workloads.command import CommandLine, read_command
from oomedic.workloads.devices import Devices, read_devices
from oomedic.workloads.engine_container import Candidate, PodTemplate, read_engine
from oomedic.workloads.engine_kinds import engine_of_arguments
from oomedic.workloads.reading import Reading
from oomedic.workloads.source import Source
from oomedic.yamldoc.nodes import Node, get, items, text_of

__all__ = ("PodTemplate", "read_pod")


class _Place(NamedTuple):
    """A container of a pod, and its key within the object."""

    container: Node
    key: str


def read_pod(found: KubeObject, template: PodTemplate, source: Source) -> Iterator[Reading]:
    """Read the engine containers of a pod spec: by what they run, else by their image, never by their position."""
    source.atlas.take(found)
    candidates = [_candidate(place, template, source) for place in _containers(template)]
    shown = [candidate for candidate in candidates if candidate.command.running]
    for candidate in candidates:
        if (
            candidate.name == template.engine
            or candidate.command.running
            or (template.engine is None and not shown and _may_be_engine(candidate, source))
        ):
            yield read_engine(found, template, candidate, source)


def _containers(template: PodTemplate) -> Iterator[_Place]:
    for field in ("containers", "initContainers"):
        for index, container in enumerate(items(get(template.pod, field))):
            if field == "containers" or text_of(get(container, "restartPolicy")) == "Always":
                yield _Place(container, f"{template.key}/{field}/{index}")


def _candidate(place: _Place, template: PodTemplate, source: Source) -> Candidate:
    container, pod = place.container, template.pod
    image = text_of(get(container, "image"))
    command: CommandLine = read_command(container, pod, source)
    devices: Devices = read_devices(container, pod, source)
    return Candidate(container, place.key, image, command, devices)


def _may_be_engine(candidate: Candidate, source: Source) -> bool:
    """Tell whether a container whose program does not show is an engine: by its image, or by arguments of vLLM."""
    if candidate.engine is not None:
        return not candidate.command.replaced or candidate.devices.resource is not None
    if candidate.command.replaced or candidate.devices.resource is None:
        return False
    given = read_argv(candidate.command.words, source.table).given
    return engine_of_arguments(frozenset(given)) is not None
