"""Everything that a cluster shows of one workload. What may not be seen costs one fact, and is written down."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any, Final, NamedTuple

from oomedic.claim import Claim, claim
from oomedic.errors import UsageError
from oomedic.kube.ownership import Reference, Tree, controller_of
from oomedic.live.revisions import former_of_deployment, former_of_set, ran_itself_until
from oomedic.live.workload import (
    ContainerLog,
    LivePod,
    LiveWorkload,
    Printed,
    Refused,
    config_maps_named,
    has_crashed,
    is_failing,
    is_ready,
    is_unscheduled,
    logged_lives,
)
from oomedic.live_diagnosis import controller_among
from oomedic.sources.cluster.connection import Connection
from oomedic.sources.cluster.gpus import inside
from oomedic.sources.cluster.kinds import CONFIG_MAP, CONTROLLER_REVISION, EVENT, POD, REPLICA_SET, Kind, Kinds
from oomedic.sources.cluster.nodes import Around, Nodes, place
from oomedic.sources.cluster.sight import Sight

_MOST_PODS: Final = 8
_MOST_OWNERS: Final = 8
_AT_ONCE: Final = 8
_FORBIDDEN: Final = 403


class Scope(NamedTuple):
    """Where to look: a namespace (None for all), a label selector, and how far back logs go, in seconds."""

    namespace: str | None = None
    selector: str | None = None
    since_s: int | None = None


class Collection:
    """Collects from one connection; what several workloads share (owners, nodes) is asked for once."""

    def __init__(self, connection: Connection, since_s: int | None = None, *, probes: bool = False) -> None:
        """Start with nothing known; ``probes`` allows a pod of our own on a node."""
        self._connection = connection
        self._probes = probes
        self._since = {} if since_s is None else {"sinceSeconds": str(since_s)}
        self._owners: dict[Reference, Tree | None] = {}
        self._limit = asyncio.Semaphore(_AT_ONCE)
        self.kinds = Kinds(connection)
        self.sight = Sight(connection)
        self.nodes = Nodes(self.sight)

    async def target(self, kind_name: str, name: str, namespace: str) -> LiveWorkload:
        """Collect what belongs to one named object.

        Raises:
            ClusterError: ``cluster-no-such-object``, ``cluster-forbidden`` or as ``Connection.ask``.
        """
        kind = await self.kinds.called(kind_name)
        answer = await self._connection.get(kind.path(namespace, name))
        self.sight.require(answer, kind, name, namespace)
        found = _with_type(answer.tree, kind)
        if kind is POD:
            return await self.workload([found], await self._chain(found))
        chain = await self._chain(found)
        return await self.workload(await self._pods_of(found, namespace), (*chain, found))

    async def look(self, target: Reference) -> tuple[Tree, tuple[Tree, ...], tuple[str, ...]]:
        """Return a workload as it is now, its pods, and what is said of those without a node.

        Raises:
            ClusterError: as ``target``.
        """
        kind = await self.kinds.of(target.api_version, target.kind)
        answer = await self._connection.get(kind.path(target.namespace, target.name))
        self.sight.require(answer, kind, target.name, target.namespace)
        found = _with_type(answer.tree, kind)
        pods = [found] if kind is POD else await self._pods_of(found, target.namespace or "")
        waiting = [pod for pod in pods if is_unscheduled(pod)]
        events = [event for pod in waiting for event in await self._events(pod)]
        return found, tuple(pods), tuple(str(event.get("message", "")) for event in events)

    async def failing(self, scope: Scope) -> AsyncIterator[list[Tree]]:
        """Yield the failing pods, a page at a time: what runs well is never kept.

        Raises:
            ClusterError: ``cluster-forbidden`` when pods may not be listed, or as ``Connection.ask``.
        """
        selected = {"labelSelector": scope.selector} if scope.selector else {}
        async for answer in self._connection.pages(POD.path(scope.namespace), **selected):
            self.sight.require(answer, POD, None, scope.namespace)
            pods = (_with_type(pod, POD) for pod in answer.tree.get("items") or ())
            yield [pod for pod in pods if is_failing(pod) or is_unscheduled(pod)]

    async def owners(self, pod: Tree) -> tuple[Tree, ...]:
        """Return the chain from the object that was written down to the owner of the pod."""
        return await self._chain(pod)

    async def workload(self, pods: Iterable[Tree], owners: tuple[Tree, ...]) -> LiveWorkload:
        """Collect logs, events, node, neighbours and ConfigMaps of some pods of one workload."""
        chosen = sorted(pods, key=_telling)[:_MOST_PODS]
        namespaces = {None, *(pod["metadata"]["namespace"] for pod in chosen)}
        observed = await asyncio.gather(*map(self._pod, chosen))
        maps = await self._config_maps(chosen)
        around = await self.nodes.around(chosen)
        seen, remarks = await self._with_gpus(observed, around)
        own = {place(pod) for pod in chosen}
        live = LiveWorkload(
            chain=owners or tuple(chosen[:1]),
            pods=seen,
            config_maps=maps,
            node=around.node,
            neighbours=tuple(each for each in around.users if each not in own),
            node_pools=await self.nodes.pools(),
            remarks=remarks,
        )
        live = await self._with_history(live, owners, chosen)
        refused = tuple(dict.fromkeys(each for each in self.sight.refused if each.namespace in namespaces))
        return live._replace(refused=refused)

    async def _chain(self, found: Tree) -> tuple[Tree, ...]:
        """Return the owners of an object, the topmost first; where one may not be seen, the chain begins below it."""
        chain: list[Tree] = []
        while (owner := controller_of(found)) is not None and len(chain) < _MOST_OWNERS:
            if owner not in self._owners:
                self._owners[owner] = await self._owner(owner)
            above = self._owners[owner]
            if above is None:
                break
            found = above
            chain.insert(0, found)
        return tuple(chain)

    async def _owner(self, owner: Reference) -> Tree | None:
        try:
            kind = await self.kinds.of(owner.api_version, owner.kind)
        except UsageError:
            return None
        seen = await self.sight.see("owner", kind, owner.namespace, owner.name)
        return None if seen is None else _with_type(seen, kind)

    async def _pods_of(self, found: Tree, namespace: str) -> list[Tree]:
        """Return the pods of a workload: those that its selector finds, else those whose owners lead to it."""
        labels = ((found.get("spec") or {}).get("selector") or {}).get("matchLabels")
        selected = {"labelSelector": ",".join(f"{key}={value}" for key, value in labels.items())} if labels else {}
        pods: list[Tree] = []
        async for answer in self._connection.pages(POD.path(namespace), **selected):
            self.sight.require(answer, POD, None, namespace)
            page = [_with_type(pod, POD) for pod in answer.tree.get("items") or ()]
            pods += page if labels else [pod for pod in page if await self._leads_to(pod, found)]
        return pods

    async def _leads_to(self, pod: Tree, found: Tree) -> bool:
        chain = await self._chain(pod)
        return any(owner["metadata"].get("uid") == found["metadata"].get("uid") for owner in chain)

    async def _with_history(self, live: LiveWorkload, owners: tuple[Tree, ...], pods: list[Tree]) -> LiveWorkload:
        """Add the last revision that ran, where pods of a workload fail whose revisions are kept."""
        found = controller_among(owners)
        if found is None or not any(is_failing(pod) or is_unscheduled(pod) for pod in pods):
            return live
        deploys = found["kind"] == "Deployment"
        kind = REPLICA_SET if deploys else CONTROLLER_REVISION
        labels = (found["spec"].get("selector") or {}).get("matchLabels") or {}
        selector = ",".join(f"{key}={value}" for key, value in labels.items())
        revisions = await self.sight.list("revisions", kind, found["metadata"]["namespace"], labelSelector=selector)
        siblings = pods
        if len(revisions) > 1 and not any(map(is_ready, pods)):
            siblings = await self.sight.list("neighbours", POD, found["metadata"]["namespace"], labelSelector=selector)
        former = (former_of_deployment if deploys else former_of_set)(found, revisions, siblings)
        if former is not None and former.pod is not None:
            around = await self.nodes.around([former.pod])
            former = former._replace(node=around.node)
        itself = ran_itself_until(found, revisions) if deploys else None
        return live._replace(former=former, ran_itself_until=itself)

    async def _pod(self, pod: Tree) -> LivePod:
        async with self._limit:
            events = await self._events(pod)
            logs = [log for life in logged_lives(pod) if (log := await self._log(pod, *life)) is not None]
            printed = await inside(self._connection, pod)
        if isinstance(printed, Refused):
            self.sight.refused.append(printed)
        return LivePod(pod, events, tuple(logs), (printed,) if isinstance(printed, Printed) else ())

    async def _with_gpus(
        self, pods: Iterable[LivePod], around: Around
    ) -> tuple[tuple[LivePod, ...], tuple[Claim, ...]]:
        """Add what is said of the node's GPUs to its pods in which nothing could be asked."""
        silent = [pod for pod in pods if not pod.printed and _is_on(pod.found, around.node)]
        if not silent:
            return tuple(pods), ()
        probe, remarks = await self._probe(silent[0].found) if self._probes else (None, ())
        said = tuple(filter(None, (probe or around.metrics,)))
        return tuple(pod._replace(printed=said) if pod in silent else pod for pod in pods), remarks

    async def _probe(self, pod: Tree) -> tuple[Printed | None, tuple[Claim, ...]]:
        from oomedic.sources.cluster.probe import ProbeError, probe_node  # only where the user asks for it

        try:
            seen = await probe_node(self._connection, pod)
        except ProbeError as failed:
            return None, (claim("cluster.probe-failed", node=pod["spec"]["nodeName"], reason=failed.reason),)
        if isinstance(seen, Refused):
            self.sight.refused.append(seen)
            return None, ()
        return seen, ()

    async def _log(self, pod: Tree, container: str, previous: bool) -> ContainerLog | None:  # noqa: FBT001 - a life is a pair
        metadata = pod["metadata"]
        asked = {"container": container, "previous": "true"} if previous else {"container": container, **self._since}
        answer = await self._connection.log(metadata["namespace"], metadata["name"], **asked)
        if answer.status == 200:
            return ContainerLog(container, previous, answer.body)
        if answer.status == _FORBIDDEN:
            self.sight.refused.append(Refused("logs", "get", "", "pods/log", metadata["namespace"]))
        # 400 and 404: the life is gone with its log
        return None

    async def _events(self, pod: Tree) -> tuple[Tree, ...]:
        metadata = pod["metadata"]
        about = f"involvedObject.kind=Pod,involvedObject.name={metadata['name']}"
        events = await self.sight.list("events", EVENT, metadata["namespace"], fieldSelector=about)
        return tuple(sorted(events, key=lambda event: event.get("lastTimestamp") or event.get("eventTime") or ""))

    async def _config_maps(self, pods: Iterable[Tree]) -> tuple[Tree, ...]:
        wanted = {(pod["metadata"]["namespace"], name): None for pod in pods for name in config_maps_named(pod)}
        found = [await self.sight.see("config-map", CONFIG_MAP, namespace, name) for namespace, name in wanted]
        return tuple(_with_type(each, CONFIG_MAP) for each in found if each is not None)


def _telling(pod: Tree) -> tuple[bool, bool, str]:
    """Sort the pods: those with a crash behind them first, then those that fail otherwise, the oldest first."""
    return not has_crashed(pod), not is_failing(pod), str(pod["metadata"].get("creationTimestamp", ""))


def _is_on(pod: Tree, node: Tree | None) -> bool:
    return node is not None and pod["spec"].get("nodeName") == node["metadata"]["name"]


def _with_type(found: Mapping[str, Any], kind: Kind) -> Tree:
    """Return an object with its kind: the server leaves it out of the items of a list."""
    return {"apiVersion": kind.api_version, "kind": kind.kind, **found}
