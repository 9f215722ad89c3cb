"""Reading what may be read, and writing down what may not: each refusal costs one fact."""

from typing import Final

from oomedic.errors import ClusterError
from oomedic.kube.ownership import Tree
from oomedic.live.workload import Refused
from oomedic.sources.cluster.connection import Answer, Connection
from oomedic.sources.cluster.kinds import Kind

_NOT_FOUND: Final = 404
_FORBIDDEN: Final = 403


class Sight:
    """What one user sees on one cluster."""

    def __init__(self, connection: Connection) -> None:
        """Start with nothing refused."""
        self.connection = connection
        self.refused: list[Refused] = []

    async def see(self, fact: str, kind: Kind, namespace: str | None, name: str) -> Tree | None:
        """Return one object, None where it is not there or may not be seen."""
        answer = await self.connection.get(kind.path(namespace, name))
        if answer.status == 200:
            tree: Tree = answer.tree
            return tree
        if answer.status == _FORBIDDEN:
            self.refused.append(Refused(fact, "get", kind.group, kind.plural, namespace))
        return None

    async def list(self, fact: str, kind: Kind, namespace: str | None, **selected: str) -> list[Tree]:
        """Return the objects of a list, none where they may not be seen; ``namespace`` None lists all namespaces."""
        found: list[Tree] = []
        async for answer in self.connection.pages(kind.path(namespace), **selected):
            if answer.status == _FORBIDDEN:
                self.refused.append(Refused(fact, "list", kind.group, kind.plural, namespace))
            if answer.status != 200:
                break
            found += answer.tree.get("items") or ()
        return found

    def require(self, answer: Answer, kind: Kind, name: str | None, namespace: str | None) -> None:
        """Pass an answer without which the command can do nothing.

        Raises:
            ClusterError: ``cluster-forbidden``, ``cluster-no-such-object`` or ``cluster-refused``.
        """
        if answer.status == 200:
            return
        verb = "get" if name else "list"
        where = namespace if kind.namespaced else None
        if answer.status == _FORBIDDEN:
            rule = Refused("", verb, kind.group, kind.plural, where).rule
            raise ClusterError("cluster-forbidden", verb=verb, resource=kind.plural, namespace=where or "*", rule=rule)
        if answer.status == _NOT_FOUND:
            raise ClusterError("cluster-no-such-object", kind=kind.kind, name=name or "", namespace=where or "")
        raise ClusterError(
            "cluster-refused", server=self.connection.server, status=answer.status, reason=answer.message
        )
