"""Running one program inside a container."""

import asyncio
from typing import Final

import httpx_ws
from kr8s._exec import Exec  # Pod.exec waits without end for a pod that is not ready, which is when we want to look
from kr8s.asyncio.objects import Pod

from oomedic.kube.ownership import Tree
from oomedic.live.workload import Refused
from oomedic.sources.cluster.connection import Connection

_PATIENCE_S: Final = 15.0
_FORBIDDEN: Final = 403
_VERBS: Final = ("get", "create")
"""A websocket is a GET; releases from 1.35 on want to see the right to create as well."""


async def run_inside(connection: Connection, pod: Tree, container: str, command: list[str]) -> str | Refused | None:
    """Return what a program prints, or the permission that it lacks; None where it is not there or fails."""
    try:
        async with asyncio.timeout(_PATIENCE_S):
            resource = await Pod(dict(pod), api=connection.api)
            async with Exec(resource, command, container=container, check=False).run() as done:
                return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None
    except httpx_ws.WebSocketUpgradeError as error:
        return await _refused(connection, pod) if error.response.status_code == _FORBIDDEN else None
    except Exception:  # noqa: BLE001 - a fact that is missing; kr8s lets errors of its sockets and tasks through
        return None


async def _refused(connection: Connection, pod: Tree) -> Refused | None:
    namespace = pod["metadata"]["namespace"]
    for verb in _VERBS:
        if not await connection.may(verb, "pods", "exec", namespace):
            return Refused("nvidia-smi", verb, "", "pods/exec", namespace)
    return None
