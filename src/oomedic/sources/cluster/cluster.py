"""The door to a cluster: plain calls, behind which requests run side by side."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from oomedic.live_workload import LiveWorkload
from oomedic.ownership import Tree, reference
from oomedic.sources.cluster.collection import Collection, Scope
from oomedic.sources.cluster.connection import Access, Connection, connect

_TOGETHER: Final = 4
Done = TypeVar("Done")


class Cluster:
    """One cluster as one user.

    Raises:
        ClusterError: when it cannot be reached, from every call.
    """

    def __init__(self, access: Access, since_s: int | None = None) -> None:
        """Connect; ``since_s`` is how far back current logs are read."""
        self._runner = asyncio.Runner()
        self._connection: Connection = self.run(connect(access))
        self._collection = Collection(self._connection, since_s)
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
