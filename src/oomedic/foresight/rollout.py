"""Rollouts that wait for a GPU which the old pod holds until the new one is ready.

Kubernetes rounds maxSurge up and maxUnavailable down, and takes one for maxUnavailable where both come to nothing
(pkg/controller/deployment/util, ResolveFenceposts).
"""

from collections.abc import Iterator
from math import ceil
from typing import Final, NamedTuple

from oomedic.claim import claim
from oomedic.errors import Parameter
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.workloads.workload import Strategy

_ROLLING: Final = "RollingUpdate"


class Room(NamedTuple):
    """What node pools let a pod have: whether any is known, and the GPUs of all together, None without a limit."""

    known: bool = False
    gpus: int | None = None


def no_spare_gpu(evidence: Evidence, room: Room) -> Iterator[Finding]:
    """Yield that an update needs more GPUs than the node pools allow; where none is known, that it needs more."""
    workload = evidence.workload
    strategy = workload.strategy if workload else None
    if workload is None or strategy is None or not workload.gpus_per_replica or not workload.replicas:
        return
    surge = _surge(strategy, workload.replicas)
    spare, taken = surge * workload.gpus_per_replica, workload.replicas * workload.gpus_per_replica
    facts: dict[str, Parameter] = {"surge": surge, "spare": spare, "strategy": _written(strategy)}
    if surge and room.gpus is not None and room.gpus < taken + spare:
        said = claim("foreseen.no-spare-gpu", "strategy", limit=room.gpus, taken=taken, **facts)
        yield Finding("POD105", "unschedulable-no-gpu", "likely", (said,), None, "other")
    elif surge and not room.known:
        said = claim("foreseen.spare-gpu-needed", "strategy", **facts)
        yield Finding("POD105", "unschedulable-no-gpu", "possible", (said,), None, "other")


def _surge(strategy: Strategy, replicas: int) -> int:
    """Return how many pods come before an old one goes, 0 where an old one goes first."""
    if strategy.type != _ROLLING or strategy.max_surge is None:
        return 0
    surge = ceil(_share(strategy.max_surge, replicas))
    unavailable = int(_share(strategy.max_unavailable or "0", replicas))
    return surge if surge > 0 and unavailable == 0 else 0


def _share(written: str, replicas: int) -> float:
    try:
        return float(written[:-1]) * replicas / 100 if written.endswith("%") else float(written)
    except ValueError:
        return 0.0


def _written(strategy: Strategy) -> str:
    return f"{strategy.type}, maxSurge {strategy.max_surge}, maxUnavailable {strategy.max_unavailable}"
