"""The pods of a Ray cluster: the head, and groups of workers."""

from collections.abc import Iterator
from typing import NamedTuple

from oomedic.workloads.devices import Devices, read_devices, whole
from oomedic.workloads.reading import Count
from oomedic.workloads.source import Source
from oomedic.yamldoc.nodes import Node, get, items, text_of


class Group(NamedTuple):
    """Pods of one template.

    Attributes:
        path: pointer to the group within the cluster's spec.
        pod: their pod spec.
        pods: how many there are, None where an autoscaler decides.
        least, most: the bounds of the autoscaler.
        devices: that one pod has, and where the number is written.
    """

    path: str
    pod: Node | None
    pods: int | None
    least: int | None
    most: int | None
    devices: Devices

    @property
    def counts(self) -> tuple[Count, ...]:
        """Where the number of devices is written."""
        return tuple(map(Count, self.devices.leaves))


def groups(cluster: Node | None, source: Source) -> Iterator[Group]:
    """Yield the head, then the groups of workers."""
    head = get(cluster, "headGroupSpec", "template", "spec")
    yield Group("headGroupSpec", head, 1, None, None, _devices(head, source))
    for index, worker in enumerate(items(get(cluster, "workerGroupSpecs"))):
        pod = get(worker, "template", "spec")
        replicas, hosts = get(worker, "replicas"), whole(text_of(get(worker, "numOfHosts"))) or 1
        number = 1 if replicas is None else whole(text_of(replicas))
        least, most = (whole(text_of(get(worker, key))) for key in ("minReplicas", "maxReplicas"))
        pods = None if number is None else number * hosts
        yield Group(f"workerGroupSpecs/{index}", pod, pods, least, most, _devices(pod, source))


def total_devices(found: list[Group]) -> int | None:
    """Return the devices of all pods, None where a number is not known."""
    numbers = [0 if each.devices.number is None else each.devices.number * (each.pods or 0) for each in found]
    unknown = any(each.pods is None and each.devices.number for each in found)
    return None if unknown or not any(numbers) else sum(numbers)


def _devices(pod: Node | None, source: Source) -> Devices:
    for container in items(get(pod, "containers")):
        devices = read_devices(container, pod, source)
        if devices.resource is not None:
            return devices
    return Devices()
