"""The node of a pod: its labels, who else is on it, and what its GPUs say; and the nodes that could be there."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from oomedic.kube.ownership import Tree
from oomedic.live.workload import Printed, gpus_asked
from oomedic.sources.cluster.gpus import exported
from oomedic.sources.cluster.kinds import NODE, NODE_POOL, POD
from oomedic.sources.cluster.sight import Sight

_MOST_NEIGHBOURS: Final = 50


class Around(NamedTuple):
    """A node, the pods with GPUs on it as ``namespace/name``, and DCGM's metrics of it."""

    node: Tree | None = None
    users: tuple[str, ...] = ()
    metrics: Printed | None = None


class Nodes:
    """Asks for each node once, however many workloads are on it."""

    def __init__(self, sight: Sight) -> None:
        """Start with nothing known."""
        self._sight = sight
        self._known: dict[str, Around] = {}
        self._pools: tuple[Tree, ...] | None = None

    async def around(self, pods: Iterable[Tree]) -> Around:
        """Return what is around the first of the pods that has a node."""
        name = next((pod["spec"]["nodeName"] for pod in pods if pod["spec"].get("nodeName")), None)
        if name is None:
            return Around()
        if name not in self._known:
            node = await self._sight.see("node", NODE, None, name)
            there = await self._sight.list("neighbours", POD, None, fieldSelector=f"spec.nodeName={name}", limit="500")
            users = tuple(place(pod) for pod in there if gpus_asked(pod))[:_MOST_NEIGHBOURS]
            self._known[name] = Around(node, users, await self._metrics(there))
        return self._known[name]

    async def pools(self) -> tuple[Tree, ...]:
        """Return Karpenter's node pools."""
        if self._pools is None:
            pools = await self._sight.list("node-pools", NODE_POOL, None)
            self._pools = tuple({"apiVersion": NODE_POOL.api_version, "kind": NODE_POOL.kind, **pool} for pool in pools)
        return self._pools

    async def spare_gpus(self, selector: Tree, wanted: int) -> bool:
        """Tell whether a node with these labels has so many GPUs that no pod asked for; False when not seen."""
        labels = ",".join(f"{key}={value}" for key, value in selector.items())
        nodes = await self._sight.list("node", NODE, None, labelSelector=labels)
        pods = await self._sight.list("neighbours", POD, None, limit="500") if nodes else []
        for node in nodes:
            name, allocatable = node["metadata"]["name"], node["status"].get("allocatable") or {}
            devices = (str(number) for resource, number in allocatable.items() if resource.startswith("nvidia.com/"))
            have = sum(int(number) for number in devices if number.isdigit())
            taken = sum(gpus_asked(pod) for pod in pods if pod["spec"].get("nodeName") == name and not _has_ended(pod))
            if have - taken >= wanted:
                return True
        return False

    async def _metrics(self, pods: Iterable[Tree]) -> Printed | None:
        seen = await exported(self._sight.connection, pods)
        if seen is None or isinstance(seen, Printed):
            return seen
        self._sight.refused.append(seen)
        return None


def place(pod: Tree) -> str:
    """Return ``namespace/name``."""
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def _has_ended(pod: Tree) -> bool:
    return pod.get("status", {}).get("phase") in {"Succeeded", "Failed"}
