"""Asking an engine inside a pod, through a port-forward: its models, one request, its metrics."""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, NamedTuple

import httpx
from kr8s.asyncio.objects import Pod
from kr8s.portforward import PortForward

from oomedic.kube.ownership import Tree
from oomedic.live.workload import Refused
from oomedic.sources.cluster.connection import Connection

_PATIENCE_S: Final = 60.0
_REQUESTS: Final[tuple[tuple[str, Mapping[str, Any]], ...]] = (
    ("/v1/completions", {"prompt": "Hello", "max_tokens": 8, "temperature": 0}),
    ("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 8}),
    ("/v1/embeddings", {"input": "Hello"}),
    ("/pooling", {"input": "Hello"}),
)
"""What is asked, one after the other, until a path is served: text, chat, embeddings and other pooling."""
_METRIC: Final = re.compile(
    r"^vllm:(num_preemptions(?:_total)?|(?:gpu|kv)_cache_usage_perc)\{[^}]*\}\s+(\S+)", re.MULTILINE
)
_WANTS_KEY: Final = 401
_NOT_SERVED: Final = frozenset((400, 404, 405, 422, 501))


class Served(NamedTuple):
    """What a server answered.

    ``reason`` says why there is no answer, ``refused`` that it may not be asked. ``preemptions`` and ``usage`` (a share
    of 1) are None where no metrics are.
    """

    model: str | None = None
    path: str | None = None
    milliseconds: int | None = None
    wants_key: bool = False
    reason: str | None = None
    preemptions: int | None = None
    usage: float | None = None
    refused: Refused | None = None


async def ask_server(connection: Connection, pod: Tree, port: int) -> Served:
    """Ask the engine in a pod; every answer is awaited for a bounded time."""
    metadata = pod["metadata"]
    if not await connection.may("create", "pods", "portforward", metadata["namespace"]):
        return Served(refused=Refused("", "create", "", "pods/portforward", metadata["namespace"]))
    try:
        async with asyncio.timeout(_PATIENCE_S), _forwarded(connection, pod, port) as client:
            return await _asked(client)
    except (httpx.HTTPError, OSError, TimeoutError, ValueError, KeyError) as error:
        return Served(reason=str(error) or type(error).__name__)
    except Exception as error:  # noqa: BLE001 - kr8s lets errors of its tasks and sockets through as they are
        return Served(reason=str(error) or type(error).__name__)


@asynccontextmanager
async def _forwarded(connection: Connection, pod: Tree, port: int) -> AsyncIterator[httpx.AsyncClient]:
    resource = await Pod(dict(pod), api=connection.api)
    async with (
        PortForward(resource, remote_port=port, local_port="auto") as local,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{local}", timeout=_PATIENCE_S) as client,
    ):
        yield client


async def _asked(client: httpx.AsyncClient) -> Served:
    models = await client.get("/v1/models")
    if models.status_code == _WANTS_KEY:
        return Served(wants_key=True)
    models.raise_for_status()
    model = str(models.json()["data"][0]["id"])
    for path, body in _REQUESTS:
        started = time.monotonic()
        answer = await client.post(path, json={"model": model, **body})
        if answer.status_code in _NOT_SERVED:
            continue
        answer.raise_for_status()
        took = round((time.monotonic() - started) * 1000)
        return await _with_metrics(client, Served(model, path, took))
    return Served(model, reason="none of its paths takes a request")


async def _with_metrics(client: httpx.AsyncClient, served: Served) -> Served:
    answer = await client.get("/metrics")
    if answer.status_code != 200:
        return served
    found: dict[str, float] = {}
    for name, value in _METRIC.findall(answer.text):
        key = "preemptions" if "preemptions" in name else "usage"
        found[key] = found.get(key, 0.0) + float(value)
    preemptions = found.get("preemptions")
    return served._replace(preemptions=None if preemptions is None else int(preemptions), usage=found.get("usage"))
