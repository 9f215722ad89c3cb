"""Requests to one API server, with patience for its faults.

Objects stay the plain mappings that the server sends. Statuses are judged here: kr8s itself would repeat a request
three times, with new credentials each time, on 403 as well as on 401.
"""

import asyncio
import json
import warnings
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final, NamedTuple

import httpx
import kr8s.asyncio

from oomedic.errors import ClusterError

_TRIES: Final = 5
_FIRST_PAUSE_S: Final = 0.25
_LONGEST_PAUSE_S: Final = 10.0
_PAGE: Final = 250
_LOG_LIMIT: Final = 32 * 1024 * 1024
_BUSY: Final = frozenset((429, 503))
_FAULTY: Final = frozenset((500, 502, 504))


class Access(NamedTuple):
    """How to reach a cluster: kubectl's options of the same names; ``timeout_s`` is for one answer."""

    kubeconfig: str | None = None
    context: str | None = None
    namespace: str | None = None
    user: str | None = None
    groups: tuple[str, ...] = ()
    timeout_s: float = 30.0


class Answer(NamedTuple):
    """A status and what came with it."""

    status: int
    body: bytes

    @property
    def tree(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def message(self) -> str:
        """The server's own words about a refusal."""
        try:
            return str(self.tree["message"])
        except (ValueError, KeyError, TypeError):
            return self.body.decode("utf-8", "replace")[:300].strip()


class Connection:
    """One API server as one user; made by ``connect``."""

    def __init__(self, api: Any, access: Access) -> None:
        """Keep kr8s' session."""
        self._api = api
        self._timeout_s = access.timeout_s
        self.namespace: str = access.namespace or api.namespace or "default"
        self.server: str = str(api.auth.server)
        self._session = api._session  # noqa: SLF001 - kr8s has no setting for impersonation, nor for a new token
        if access.user:
            own = [("Impersonate-User", access.user), *(("Impersonate-Group", group) for group in access.groups)]
            # httpx keeps several values of one header only when all headers come as one list
            self._session.headers = httpx.Headers([*self._session.headers.multi_items(), *own])

    @property
    def api(self) -> Any:
        """Kr8s' own object, for port-forwards."""
        return self._api

    async def close(self) -> None:
        """End all connections."""
        await self._session.aclose()

    async def get(self, path: str, **parameters: str) -> Answer:
        """Read one path, again after a fault."""
        return await self.ask("GET", path, parameters)

    async def glance(self, path: str) -> Answer:
        """Read one path once: where something behind the API server answers, its faults are not the server's.

        Raises:
            ClusterError: ``cluster-unreachable`` or ``cluster-slow``.
        """
        answer, _ = await self._once("GET", path, {}, (None, None))
        return answer

    async def discover(self, path: str, accept: str) -> Answer:
        """Read a path in another form of JSON."""
        return await self.ask("GET", path, {}, headers={"Accept": accept})

    async def ask(
        self,
        method: str,
        path: str,
        parameters: Mapping[str, str],
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send one request; repeat it after 401 with new credentials, after 429 and 5xx with pauses.

        A change is repeated only where the server said that it did not happen: 401 and 429.

        Raises:
            ClusterError: ``cluster-unreachable``, ``cluster-slow``, ``cluster-faulty`` or ``cluster-unauthorized``.
        """
        renewed = False
        for attempt in range(_TRIES):
            answer, after = await self._once(method, path, parameters, (body, headers))
            if answer.status == 401 and not renewed:
                renewed = True
                await self._renew()
            elif answer.status == 429 or (method == "GET" and answer.status in _BUSY | _FAULTY):
                await asyncio.sleep(_pause(attempt, after))
            elif answer.status == 401:
                raise ClusterError("cluster-unauthorized", server=self.server, reason=answer.message)
            else:
                return answer
        raise ClusterError(
            "cluster-faulty", server=self.server, status=answer.status, reason=answer.message, tries=_TRIES
        )

    async def may(self, verb: str, resource: str, subresource: str, namespace: str) -> bool:
        """Tell whether the user may do something in the core group; True where even that may not be asked."""
        asked = {"verb": verb, "resource": resource, "subresource": subresource, "namespace": namespace}
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": asked},
        }
        path, headers = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {"Content-Type": "application/json"}
        answer = await self.ask("POST", path, {}, json.dumps(review).encode(), headers)
        return bool(answer.tree["status"]["allowed"]) if answer.status == 201 else True

    async def pages(self, path: str, **parameters: str) -> AsyncIterator[Answer]:
        """Read a list page by page, so that no more than one page is held; a refusal is the only answer then."""
        asked = {"limit": str(_PAGE), **parameters}
        while True:
            answer = await self.get(path, **asked)
            if answer.status == 410 and "continue" in asked:
                # the list was changed for too long: the server says where a less consistent rest begins
                following = (answer.tree.get("metadata") or {}).get("continue")
                if not following:
                    raise ClusterError("cluster-faulty", server=self.server, status=410, reason=answer.message, tries=1)
                asked["continue"] = following
                continue
            yield answer
            following = (answer.tree.get("metadata") or {}).get("continue") if answer.status == 200 else None
            if not following:
                return
            asked["continue"] = following

    async def log(self, namespace: str, pod: str, **parameters: str) -> Answer:
        """Read the log of a container, at most 32 MiB from its beginning: the cause stands before the wrappers."""
        path = f"/api/v1/namespaces/{namespace}/pods/{pod}/log"
        return await self.get(path, limitBytes=str(_LOG_LIMIT), **parameters)

    async def _once(
        self, method: str, path: str, parameters: Mapping[str, str], sent: tuple[bytes | None, Mapping[str, str] | None]
    ) -> tuple[Answer, str | None]:
        base, last = _split(path)
        body, headers = sent
        try:
            async with self._api.call_api(
                method,
                version="",
                base=base,
                url=last,
                params=dict(parameters),
                content=body,
                headers=dict(headers or {}),
                raise_for_status=False,
                timeout=self._timeout_s,
            ) as response:
                return Answer(response.status_code, response.content), response.headers.get("Retry-After")
        except kr8s.APITimeoutError as error:
            raise ClusterError("cluster-slow", server=self.server, seconds=int(self._timeout_s)) from error
        except httpx.HTTPError as error:
            raise ClusterError("cluster-unreachable", server=self.server, reason=_reason(error)) from error

    async def _renew(self) -> None:
        await self._api.auth.reauthenticate()
        if self._api.auth.token:
            self._session.headers["Authorization"] = f"Bearer {self._api.auth.token}"


async def connect(access: Access) -> Connection:
    """Connect as kubectl would: the kubeconfig's current context, or the service account inside a pod.

    Raises:
        ClusterError: ``cluster-credentials`` when nothing says where the cluster is, or as ``Connection.ask``.
    """
    for attempt in range(_TRIES):
        try:
            return Connection(await _api(access), access)
        except kr8s.ServerError as error:
            status = error.response.status_code if error.response is not None else 0
            if status not in _BUSY | _FAULTY or attempt == _TRIES - 1:
                slug = "cluster-unauthorized" if status == 401 else "cluster-refused"
                raise ClusterError(slug, server=_server(error), status=status, reason=str(error)) from error
            after = error.response.headers.get("Retry-After") if error.response is not None else None
            await asyncio.sleep(_pause(attempt, after))
    raise AssertionError  # the last try returns or raises


async def _api(access: Access) -> Any:
    with warnings.catch_warnings():
        # releases of Kubernetes newer than those that kr8s lists; only long-stable APIs are used
        warnings.simplefilter("ignore")
        try:
            return await kr8s.asyncio.api(
                kubeconfig=access.kubeconfig, context=access.context, namespace=access.namespace
            )
        except kr8s.APITimeoutError as error:
            raise ClusterError("cluster-slow", server="", seconds=int(access.timeout_s)) from error
        except httpx.HTTPError as error:
            raise ClusterError("cluster-unreachable", server=_server(error), reason=_reason(error)) from error
        except (ValueError, KeyError, OSError) as error:
            where = access.kubeconfig or "KUBECONFIG, ~/.kube/config"
            raise ClusterError("cluster-credentials", where=where, reason=_reason(error)) from error


def _split(path: str) -> tuple[str, str]:
    """Take a path apart as kr8s wants it: to the roots it would add a slash, and /apis/ does not tell the kinds."""
    base, _, last = path.rpartition("/")
    return base or "/.", last


def _pause(attempt: int, after: str | None) -> float:
    """Return how long to wait: what the server asked for, else twice as long each time."""
    if after is not None and after.isdigit():
        return min(float(after), _LONGEST_PAUSE_S)
    return min(_FIRST_PAUSE_S * 2.0**attempt, _LONGEST_PAUSE_S)


def _server(error: BaseException) -> str:
    request = getattr(error, "request", None) or getattr(getattr(error, "response", None), "request", None)
    return f"{request.url.scheme}://{request.url.netloc.decode()}" if request is not None else ""


def _reason(error: BaseException) -> str:
    return str(error) or type(error).__name__
