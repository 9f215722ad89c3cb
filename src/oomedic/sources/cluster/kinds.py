"""Where the API server keeps a kind, from the names that people and owner references use."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from oomedic.errors import ClusterError, UsageError
from oomedic.sources.cluster.connection import Connection

_AGGREGATED: Final = ",".join(
    f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList" for version in ("v2", "v2beta1")
)
"""All kinds in two answers: since Kubernetes 1.30, and in its beta form since 1.26."""


class Kind(NamedTuple):
    """One kind: its API version, its name in paths, whether it lives in namespaces, and what else it is called."""

    kind: str
    api_version: str
    plural: str
    namespaced: bool = True
    also: tuple[str, ...] = ()

    @property
    def group(self) -> str:
        """The API group, "" for the core group."""
        return self.api_version.rpartition("/")[0]

    def path(self, namespace: str | None, name: str | None = None) -> str:
        """Return the path of a list, or of one object; ``namespace`` None lists all namespaces."""
        root = "/api" if "/" not in self.api_version else "/apis"
        within = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        return f"{root}/{self.api_version}{within}/{self.plural}" + (f"/{name}" if name else "")

    def is_called(self, name: str) -> bool:
        """Tell whether kubectl would take the name for this kind, such as ``deploy`` or ``deployments.apps``."""
        wanted, _, group = name.lower().partition(".")
        if group and not self.api_version.startswith(group) and group != self.group:
            return False
        return wanted in {self.kind.lower(), self.plural, *self.also}


POD: Final = Kind("Pod", "v1", "pods", also=("po",))
NODE: Final = Kind("Node", "v1", "nodes", namespaced=False, also=("no",))
EVENT: Final = Kind("Event", "v1", "events", also=("ev",))
CONFIG_MAP: Final = Kind("ConfigMap", "v1", "configmaps", also=("cm",))
NAMESPACE: Final = Kind("Namespace", "v1", "namespaces", namespaced=False, also=("ns",))
REPLICA_SET: Final = Kind("ReplicaSet", "apps/v1", "replicasets", also=("rs",))
CONTROLLER_REVISION: Final = Kind("ControllerRevision", "apps/v1", "controllerrevisions")
NODE_POOL: Final = Kind("NodePool", "karpenter.sh/v1", "nodepools", namespaced=False)
RUNTIME_CLASS: Final = Kind("RuntimeClass", "node.k8s.io/v1", "runtimeclasses", namespaced=False)
BUILT_IN: Final = (
    POD,
    NODE,
    EVENT,
    CONFIG_MAP,
    NAMESPACE,
    REPLICA_SET,
    NODE_POOL,
    Kind("Deployment", "apps/v1", "deployments", also=("deploy",)),
    Kind("StatefulSet", "apps/v1", "statefulsets", also=("sts",)),
    Kind("DaemonSet", "apps/v1", "daemonsets", also=("ds",)),
    CONTROLLER_REVISION,
    Kind("Job", "batch/v1", "jobs"),
    Kind("CronJob", "batch/v1", "cronjobs", also=("cj",)),
    Kind("LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", "leaderworkersets", also=("lws",)),
    Kind("InferenceService", "serving.kserve.io/v1beta1", "inferenceservices", also=("isvc",)),
    Kind("RayService", "ray.io/v1", "rayservices"),
    Kind("RayCluster", "ray.io/v1", "rayclusters"),
    Kind("RayJob", "ray.io/v1", "rayjobs"),
)
"""Kinds that are found without asking."""


class Kinds:
    """The kinds of one cluster; what is not built in is asked for once, and only when it is needed."""

    def __init__(self, connection: Connection) -> None:
        """Keep the connection."""
        self._connection = connection
        self._discovered: tuple[Kind, ...] | None = None

    async def called(self, name: str) -> Kind:
        """Return the kind that a person names.

        Raises:
            UsageError: ``kind-unknown``.
        """
        for kind in BUILT_IN:
            if kind.is_called(name):
                return kind
        for kind in await self._all():
            if kind.is_called(name):
                return kind
        raise UsageError("kind-unknown", name=name)

    async def of(self, api_version: str, kind: str) -> Kind:
        """Return the kind that an owner reference names.

        Raises:
            UsageError: ``kind-unknown``: its definition was removed.
        """
        for each in BUILT_IN:
            if (each.api_version, each.kind) == (api_version, kind):
                return each
        for each in await self._all():
            if (each.api_version, each.kind) == (api_version, kind):
                return each
        raise UsageError("kind-unknown", name=f"{kind} ({api_version})")

    async def _all(self) -> tuple[Kind, ...]:
        if self._discovered is None:
            found: list[Kind] = []
            for path in ("/api", "/apis"):
                answer = await self._connection.discover(path, _AGGREGATED)
                if answer.status != 200:
                    raise ClusterError(
                        "cluster-refused", server=self._connection.server, status=answer.status, reason=answer.message
                    )
                found += [kind for group in answer.tree.get("items") or () for kind in _kinds(group)]
            self._discovered = tuple(found)
        return self._discovered


def _kinds(group: Mapping[str, Any]) -> Iterable[Kind]:
    name = (group.get("metadata") or {}).get("name", "")
    for version in group.get("versions") or ():
        api_version = f"{name}/{version['version']}" if name else version["version"]
        for each in version.get("resources") or ():
            also = (each.get("singularResource", ""), *each.get("shortNames", ()))
            yield Kind(
                each["responseKind"]["kind"], api_version, each["resource"], each.get("scope") == "Namespaced", also
            )
