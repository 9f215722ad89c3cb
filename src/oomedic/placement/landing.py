"""Where could a pod land? Every GPU that its own constraints and the node pools allow, and why a pool gives none.

Only labels, taints, requests and limits decide, as in Karpenter's scheduling simulation: a pod that asks for one
``nvidia.com/gpu`` of a pool with category g may get a T4, an A10G, an L4 or an L40S. A verdict about memory must be
reached for each of them.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from oomedic.claim import Claim, claim
from oomedic.gpu import Gpu
from oomedic.instance import PREFIXES, Instance, price_rank
from oomedic.kube.requirement import Requirement, overlap
from oomedic.kube.taint import untolerated
from oomedic.placement.needs import Needs
from oomedic.placement.node_pool import NodePool
from oomedic.units import parse_quantity

_GPU: Final = "nvidia.com/gpu"
_OPEN: Final = frozenset(
    (
        "karpenter.sh/capacity-type",
        "topology.kubernetes.io/zone",
        "topology.kubernetes.io/region",
        "topology.k8s.aws/zone-id",
        "kubernetes.io/hostname",
    )
)
"""Labels whose value is chosen when a node is made, or is not known here."""

_UNSAID: Final = frozenset(
    (
        *("instance-hypervisor", "instance-tenancy", "instance-capability-flex", "instance-nitro-enclaves-supported"),
        *("instance-cpu-manufacturer", "instance-cpu-sustained-clock-speed-mhz", "instance-ebs-bandwidth"),
        *("instance-network-bandwidth", "instance-encryption-in-transit-supported", "ec2nodeclass"),
        *("capacity-reservation-id", "capacity-reservation-type", "capacity-reservation-interruptible"),
        *("placement-group-id", "placement-group-partition"),
    )
)
"""Labels of Karpenter and Auto Mode, without their domain, that the catalogue of instance types does not have."""


class Landing(NamedTuple):
    """One card that the pod may get: the instance types that have it, the cheapest first, and the pools they are of.

    Without node pools (a managed node group, or none given) ``pools`` is empty.
    """

    gpu: Gpu
    instances: tuple[Instance, ...]
    pools: tuple[str, ...]


class Closed(NamedTuple):
    """A pool from which the pod gets no node, and why."""

    pool: str
    because: Claim


class Landings(NamedTuple):
    """Where a pod can land, the cheapest card first, and which pools give nothing."""

    open: tuple[Landing, ...]
    closed: tuple[Closed, ...]


def landings(needs: Needs, pools: Sequence[NodePool], instances: Iterable[Instance]) -> Landings:
    """Return every card that the pod may get.

    Args:
        needs: the pod's.
        pools: all node pools of the cluster that are known; none: whatever EC2 has, as far as the pod names it.
        instances: the instance types that have cards for CUDA.
    """
    instances = tuple(instances)
    if not pools:
        named = instances if needs.asks_for_instances() else ()
        found = [(instance, None) for instance in named if _fits(needs, instance) and _selected(needs, instance)]
        return Landings(_grouped(found), ())
    allowed: list[tuple[Instance, str | None]] = []
    closed = []
    for pool in pools:
        of_pool = [instance for instance in instances if _refusal(needs, pool, instance) is None]
        allowed += [(instance, pool.name) for instance in of_pool]
        if not of_pool:
            closed.append(Closed(pool.name, why_closed(needs, pool, instances)))
    return Landings(_grouped(allowed), tuple(closed))


def why_closed(needs: Needs, pool: NodePool, instances: Sequence[Instance]) -> Claim:
    """Return why a pool gives no node: the first leg on which every one of its instance types fails."""
    found = [refusal for refusal in (_refusal(needs, pool, instance) for instance in instances) if refusal is not None]
    # the leg that the most promising type reached: taints are looked at first, limits last
    return max(found, key=_reached, default=claim("placement.no-gpu-types", pool=pool.name))


def pool_allows(pool: NodePool, instance: Instance) -> bool:
    """Tell whether a pool may make nodes of a type; what is sold in Capacity Blocks needs a pool of reserved nodes."""
    if not pool.makes(instance.family) or (instance.capacity == "capacity-block" and not _makes_reserved(pool)):
        return False
    return _outside(pool.requirements, labels_in(pool, instance), pool) is None


def labels_in(pool: NodePool | None, instance: Instance) -> Mapping[str, str]:
    """Return the labels that a node of this type gets in a pool; without one those of Karpenter and of Auto Mode."""
    own = {
        "node.kubernetes.io/instance-type": instance.type,
        "beta.kubernetes.io/instance-type": instance.type,
        "kubernetes.io/os": "linux",
    }
    if instance.arch:
        own["kubernetes.io/arch"] = instance.arch
    for prefix in PREFIXES if pool is None else (pool.prefix,):
        own |= {f"{prefix}/{name}": label for name, label in instance.labels.items()}
    if pool is None:
        return own
    if pool.auto_mode:
        own["eks.amazonaws.com/compute-type"] = "auto"
    return {**own, **pool.labels, "karpenter.sh/nodepool": pool.name}


_LEGS: Final = (
    "placement.no-gpu-types",
    "placement.taint",
    "placement.label",
    "placement.gpus",
    "placement.cpu",
    "placement.memory",
    "placement.limit",
)
"""In the order in which they are looked at."""


def _reached(refusal: Claim) -> tuple[int, float]:
    most = refusal.parameters.get("most")
    return _LEGS.index(refusal.message), float(most) if isinstance(most, int | float) else 0.0


def _makes_reserved(pool: NodePool) -> bool:
    asked = [each for each in pool.requirements if each.key == "karpenter.sh/capacity-type"]
    return bool(asked) and all(each.allows("reserved") for each in asked)


def _refusal(needs: Needs, pool: NodePool, instance: Instance) -> Claim | None:
    """Return why a pod gets no node of this type from this pool, None when it may."""
    if not pool_allows(pool, instance) or pool.built_in:
        return claim("placement.no-gpu-types", pool=pool.name)
    taint = untolerated(pool.taints, needs.tolerations)
    if taint is not None:
        return claim("placement.taint", pool=pool.name, taint=str(taint))
    labels = labels_in(pool, instance)
    outside = [_outside(term, labels, pool) for term in needs.terms]
    wrong = None if None in outside else next((each for each in outside if each is not None), None)
    if wrong is not None:
        return claim("placement.label", pool=pool.name, key=wrong.key, values=wrong.values or None)
    return _too_small(needs, pool.name, instance) or _beyond_limit(needs, pool)


def _too_small(needs: Needs, pool: str, instance: Instance) -> Claim | None:
    if instance.gpus < needs.gpus:
        return claim("placement.gpus", pool=pool, asked=needs.gpus, most=instance.gpus)
    cpu, memory = instance.allocatable_cpu, instance.allocatable_memory
    if needs.cpu is not None and cpu is not None and needs.cpu > cpu:
        return claim("placement.cpu", pool=pool, asked=needs.cpu / 1000, most=cpu / 1000, instance=instance.type)
    if needs.memory is not None and memory is not None and needs.memory > memory:
        return claim("placement.memory", pool=pool, asked=needs.memory, most=memory, instance=instance.type)
    return None


def _beyond_limit(needs: Needs, pool: NodePool) -> Claim | None:
    limit = pool.limits.get(_GPU)
    if limit is not None and parse_quantity(limit) < needs.gpus:
        return claim("placement.limit", pool=pool.name, limit=limit, asked=needs.gpus)
    return None


def _fits(needs: Needs, instance: Instance) -> bool:
    return _too_small(needs, "", instance) is None


def _selected(needs: Needs, instance: Instance) -> bool:
    """Tell whether the pod's own terms allow a type, labels that say nothing of instances left aside."""
    labels = labels_in(None, instance)

    def allows(requirement: Requirement) -> bool:
        says_something = requirement.key in labels or (
            "/instance-" in requirement.key and _is_catalogued(requirement.key)
        )
        return not says_something or requirement.allows(labels.get(requirement.key))

    return any(all(map(allows, term)) for term in needs.terms)


def _outside(term: Iterable[Requirement], labels: Mapping[str, str], pool: NodePool) -> Requirement | None:
    """Return the first requirement that nodes of a pool with these labels do not satisfy."""
    for requirement in term:
        key = requirement.key
        if key in labels or _is_catalogued(key):
            allowed = requirement.allows(labels.get(key))
        elif key in _OPEN or key.startswith(PREFIXES) or any(each.key == key for each in pool.requirements):
            allowed = overlap([requirement, *(each for each in pool.requirements if each.key == key)])
        else:
            allowed = requirement.allows(None)
        if not allowed:
            return requirement
    return None


def _is_catalogued(key: str) -> bool:
    """Tell whether a label of an instance type is one that the catalogue has, or has not for want of such a device."""
    return key.startswith(PREFIXES) and key.partition("/")[2] not in _UNSAID


def _grouped(found: Iterable[tuple[Instance, str | None]]) -> tuple[Landing, ...]:
    by_card: dict[str, list[tuple[Instance, str | None]]] = {}
    for instance, pool in found:
        by_card.setdefault(instance.gpu.name, []).append((instance, pool))
    landed = []
    for pairs in by_card.values():
        types = {instance.type: instance for instance, _ in pairs}
        pools = tuple(dict.fromkeys(pool for _, pool in pairs if pool is not None))
        landed.append(Landing(pairs[0][0].gpu, tuple(sorted(types.values(), key=price_rank)), pools))
    return tuple(sorted(landed, key=lambda landing: price_rank(landing.instances[0])))
