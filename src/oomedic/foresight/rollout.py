"""Rollouts that wait for a GPU which the old pod holds until the new one is ready.

Kubernetes rounds maxSurge up and maxUnavailable down, and takes one for maxUnavailable where both come to nothing
(pkg/controller/deployment/util, ResolveFenceposts).
"""

from collections.abc import Iterator, Sequence
from math import ceil
from typing import Final

from oomedic.claim import claim
from oomedic.errors import Parameter, UsageError
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.placement.node_pool import NodePool
from oomedic.units import parse_quantity
from oomedic.workloads.workload import Strategy

_GPU: Final = "nvidia.com/gpu"
_ROLLING: Final = "RollingUpdate"


def no_spare_gpu(evidence: Evidence, pools: Sequence[NodePool]) -> Iterator[Finding]:
    """Yield that an update needs more GPUs than there are, as far as node pools tell; without any, that it needs more.

    ``pools`` are those that the pod may get a node from.
    """
    workload = evidence.workload
    strategy = workload.strategy if workload else None
    if workload is None or strategy is None or not workload.gpus_per_replica or not workload.replicas:
        return
    surge = _surge(strategy, workload.replicas)
    if not surge:
        return
    spare, limit = surge * workload.gpus_per_replica, _limit(pools)
    facts: dict[str, Parameter] = {"surge": surge, "spare": spare, "strategy": _written(strategy)}
    if limit is not None:
        taken = workload.gpus_per_replica * workload.replicas
        if limit < taken + spare:
            said = claim("foreseen.no-spare-gpu", "strategy", limit=limit, taken=taken, **facts)
            yield Finding("POD105", "unschedulable-no-gpu", "likely", (said,), None, "other")
    elif not pools:
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


def _limit(pools: Sequence[NodePool]) -> int | None:
    """Return the GPUs that all pools together may have, None where one of them has no limit."""
    total = 0
    for pool in pools:
        try:
            total += int(parse_quantity(pool.limits[_GPU]))
        except (KeyError, UsageError):
            return None
    return total if pools else None


def _written(strategy: Strategy) -> str:
    return f"{strategy.type}, maxSurge {strategy.max_surge}, maxUnavailable {strategy.max_unavailable}"
