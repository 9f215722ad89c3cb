"""How much of its GPUs a container has in use: nvidia-smi inside the container, where that is allowed."""

import asyncio
from typing import Final

from kr8s.asyncio.objects import Pod

from oomedic.ownership import Tree
from oomedic.sources.cluster.connection import Connection
from oomedic.units import MIB, Bytes

_COMMAND: Final = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
_PATIENCE_S: Final = 15.0


async def memory_in_use(connection: Connection, pod: Tree, container: str) -> Bytes | None:
    """Return the memory in use of the fullest card, None where it cannot be seen.

    kr8s waits without end for a pod that is not ready: the time is bounded here.
    """
    if not await connection.may("create", "pods", "exec", pod["metadata"]["namespace"]):
        return None
    try:
        async with asyncio.timeout(_PATIENCE_S):
            resource = await Pod(dict(pod), api=connection.api)
            done = await resource.exec(_COMMAND, container=container, check=False)
    except Exception:  # noqa: BLE001 - a fact that is missing; kr8s lets errors of its sockets and tasks through
        return None
    return _fullest(done.stdout.decode("utf-8", "replace"))


def _fullest(text: str) -> Bytes | None:
    used = [int(line) for line in text.split() if line.isdigit()]
    return max(used) * MIB if used else None
