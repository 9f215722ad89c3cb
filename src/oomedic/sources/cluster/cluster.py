"""The door to a cluster: plain calls, behind which requests run side by side."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from oomedic.errors import ClusterError
from oomedic.kube.ownership import Reference, Tree, reference
from oomedic.live.workload import LiveWorkload, Refused
from oomedic.sources.cluster.changing import change, create, delete
from oomedic.sources.cluster.collection import Collection, Scope
from oomedic.sources.cluster.connection import Access, Connection, connect
from oomedic.sources.cluster.gpus import memory_in_use
from oomedic.units import Bytes

if TYPE_CHECKING:
    from oomedic.sources.cluster.serving import Served

_TOGETHER: Final = 4
Done = TypeVar("Done")


class Cluster:
    """One cluster as one user.

    Raises:
        ClusterError: when it cannot be reached, from every call.
    """

    def __init__(self, access: Access, since_s: int | None = None, *, probes: bool = False) -> None:
        """Connect; ``since_s`` is how far back current logs are read, ``probes`` allows a pod of our own on a node."""
        self._runner = asyncio.Runner()
        # a port-forward that is ended while a socket is open leaves a task behind, of which asyncio would print a trace
        self._runner.get_loop().set_exception_handler(lambda *_: None)
        self._connection: Connection = self.run(connect(access))
        self._collection = Collection(self._connection, since_s, probes=probes)
        self.namespace = self._connection.namespace

    def __enter__(self) -> Self:
        """Return the open connection."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connection."""
        self._runner.run(self._connection.close())
        self._runner.close()

    def run(self, work: Coroutine[Any, Any, Done]) -> Done:
        """Run one piece of work to its end."""
        return self._runner.run(work)

    def workload(self, kind: str, name: str) -> LiveWorkload:
        """Return all that is known of one named object, in the namespace of the connection."""
        return self.run(self._collection.target(kind, name, self.namespace))

    def look(self, target: Reference) -> tuple[Tree, tuple[Tree, ...], tuple[str, ...]]:
        """Return a workload as it is now, its pods, and what is said of those without a node."""
        return self.run(self._collection.look(target))

    def has_spare_gpus(self, selector: Tree, wanted: int) -> bool:
        """Tell whether a node with these labels has so many GPUs to spare."""
        return self.run(self._collection.nodes.spare_gpus(selector, wanted))

    def change(self, target: Reference, patch: Sequence[Mapping[str, Any]], *, dry_run: bool) -> Tree:
        """Change one object with one request.

        Raises:
            ClusterError: ``change-…``; nothing was changed then, but for ``change-unknown``.
        """
        return self.run(self._change(target, patch, dry_run=dry_run))

    def create(self, made: Tree, *, dry_run: bool) -> bool:
        """Create one object; tell whether it is new, and not one that says the same.

        Raises:
            ClusterError: ``change-…``.
        """
        return self.run(self._create(made, dry_run=dry_run))

    def delete(self, target: Reference, uid: str | None = None) -> None:
        """Delete one object; with ``uid`` that very one.

        Raises:
            ClusterError: ``change-…``.
        """
        self.run(self._delete(target, uid))

    def require_pod_deletion(self, namespace: str) -> None:
        """Pass where the user may delete pods.

        Raises:
            ClusterError: ``change-forbidden``.
        """
        if not self.run(self._connection.may("delete", "pods", "", namespace)):
            rule = Refused("", "delete", "", "pods", namespace).rule
            raise ClusterError("change-forbidden", verb="delete", resource="pods", namespace=namespace, rule=rule)

    def observed(self, pods: Sequence[Tree], found: Tree) -> LiveWorkload:
        """Return all that is known of some pods of a workload."""
        return self.run(self._collection.workload(pods, (found,)))

    def log(self, pod: Tree, container: str) -> bytes:
        """Return what a container has printed so far; nothing where that may not be seen."""
        metadata = pod["metadata"]
        answer = self.run(self._connection.log(metadata["namespace"], metadata["name"], container=container))
        return answer.body if answer.status == 200 else b""

    def ask_server(self, pod: Tree, port: int) -> "Served":
        """Ask the engine in a pod through a port-forward."""
        from oomedic.sources.cluster.serving import ask_server  # websockets are loaded only here

        return self.run(ask_server(self._connection, pod, port))

    def memory_in_use(self, pod: Tree, container: str) -> Bytes | None:
        """Return the memory in use of the container's fullest GPU, None where it cannot be seen."""
        return self.run(memory_in_use(self._connection, pod, container))

    async def _create(self, made: Tree, *, dry_run: bool) -> bool:
        kind = await self._collection.kinds.of(made["apiVersion"], made["kind"])
        return await create(self._connection, kind, made, dry_run=dry_run)

    async def _delete(self, target: Reference, uid: str | None) -> None:
        kind = await self._collection.kinds.of(target.api_version, target.kind)
        await delete(self._connection, kind, target, uid)

    async def _change(self, target: Reference, patch: Sequence[Mapping[str, Any]], *, dry_run: bool) -> Tree:
        kind = await self._collection.kinds.of(target.api_version, target.kind)
        return await change(self._connection, kind, target, patch, dry_run=dry_run)

    def failing(self, scope: Scope, wanted: Callable[[Tree], bool]) -> Iterator[LiveWorkload]:
        """Yield the workloads with failing pods that are ``wanted``, a few at a time."""
        groups = self.run(self._groups(scope, wanted))
        while groups:
            some, groups = groups[:_TOGETHER], groups[_TOGETHER:]
            yield from self.run(self._observe(some))

    async def _groups(self, scope: Scope, wanted: Callable[[Tree], bool]) -> list[tuple[tuple[Tree, ...], list[Tree]]]:
        """Return the failing pods by what owns them."""
        groups: dict[str, tuple[tuple[Tree, ...], list[Tree]]] = {}
        async for pods in self._collection.failing(scope):
            for pod in filter(wanted, pods):
                owners = await self._collection.owners(pod)
                top = reference(owners[0] if owners else pod)
                groups.setdefault(f"{top.namespace} {top}", (owners, []))[1].append(pod)
        return list(groups.values())

    async def _observe(self, groups: list[tuple[tuple[Tree, ...], list[Tree]]]) -> list[LiveWorkload]:
        return await asyncio.gather(*(self._collection.workload(pods, owners) for owners, pods in groups))
