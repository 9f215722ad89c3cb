"""How an engine moves to another kind of node: the ways in the order of what they touch.

First a selector, where a pool makes such nodes already; then a pool of its own; then a wider pool, which concerns
others too. No pool is ever narrowed: that would replace nodes under running pods. Without Karpenter a node group must
be made.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from oomedic.claim import Claim, claim
from oomedic.errors import InputError
from oomedic.instance import Instance, price_rank
from oomedic.kube.taint import Taint
from oomedic.placement.landing import labels_in, landings, pool_allows
from oomedic.placement.needs import Needs, needs_of
from oomedic.placement.new_pool import (
    NewPool,
    class_like,
    class_manifest,
    knows_gpu_images,
    pool_manifest,
    pool_name,
)
from oomedic.placement.node_pool import AUTO_MODE, KARPENTER, NodeClassRef, NodePool, is_auto_mode
from oomedic.placement.pod_edit import demand_values, select_nodes, tolerate
from oomedic.placement.widening import widen
from oomedic.units import parse_quantity
from oomedic.workloads.workload import Workload
from oomedic.yamldoc.splice import refused

Way = Literal["selector", "new-pool", "wider-pool", "node-group"]
_GPU: Final = "nvidia.com/gpu"
_MOST_TYPES: Final = 3
_MOST_PRICE: Final = 2.0
"""A type that stands in for the planned one may cost at most so many times as much."""
_INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"

_OF_OTHERS: Final = ("nvidia.com/", "eks.amazonaws.com/nodegroup", "alpha.eksctl.io/", "kubernetes.io/hostname")
"""Labels that the device plugin, a node group or the kubelet writes: no pool can promise them."""


class Manifest(NamedTuple):
    """A file before and after, or a new one (``before`` None)."""

    path: str
    before: str | None
    after: str


class Move(NamedTuple):
    """One way. ``files`` are what changes or is new, in the order in which to apply them."""

    way: Way
    pool: str | None
    files: tuple[Manifest, ...]
    remarks: tuple[Claim, ...] = ()


class Goal(NamedTuple):
    """Where an engine shall go.

    Attributes:
        instance: the planned type.
        workload: the engine, and ``text`` its file with the planned arguments and GPUs already in it; ``written`` as it
            stands.
        gpus: that each pod asks for after the change.
    """

    instance: Instance
    workload: Workload
    written: str
    text: str
    gpus: int

    @property
    def path(self) -> str:
        """The file that the engine stands in."""
        return next((place.file for place in self.workload.edit_paths.values()), "manifest.yaml")


class Surroundings(NamedTuple):
    """What is known of the cluster: its pools and classes of nodes, the files that they stand in, what EC2 has."""

    pools: Sequence[NodePool]
    classes: Mapping[str, Mapping[str, Any]]
    texts: Mapping[str, str]
    instances: Sequence[Instance]


def moves(goal: Goal, around: Surroundings) -> tuple[Move, ...]:
    """Return every way that can be written down, the one that touches least first."""
    found = [move for pool in around.pools if (move := _by_selector(goal, pool, around)) is not None][:1]
    found += list(_by_new_pool(goal, around))
    found += [move for pool in around.pools if (move := _by_wider_pool(goal, pool, around)) is not None][:1]
    return tuple(found) if around.pools else (*found, *_by_node_group(goal))


def _by_selector(goal: Goal, pool: NodePool, around: Surroundings) -> Move | None:
    """Select the card in a pool that makes such nodes; Karpenter takes the cheapest type with enough of them."""
    if pool.built_in or not pool_allows(pool, goal.instance) or not _within_limit(pool, goal.gpus):
        return None
    name = _label(pool.prefix, "instance-gpu-name", goal.instance)
    labels = {**name, **(_label(pool.prefix, "instance-gpu-memory", goal.instance) if _ambiguous(goal, around) else {})}
    try:
        text = _placed(goal, pool, labels, pool.taints)
    except InputError:
        return None
    if not _lands(goal, pool, labels, around):
        return None
    return Move("selector", pool.name, (Manifest(goal.path, goal.written, text),), (_same_pool(pool),))


def _by_new_pool(goal: Goal, around: Surroundings) -> Iterator[Move]:
    auto_mode = is_auto_mode(around.pools, goal.workload.node_selector or {})
    like = next((pool for pool in around.pools if not pool.built_in), None)
    reference, new_class, remarks = _node_class(auto_mode=auto_mode, like=like, around=around, goal=goal)
    pool = NewPool(
        pool_name(goal.workload.name),
        _stand_ins(goal.instance, around.instances),
        _all_gpus(goal),
        reference,
        _own_labels(goal),
    )
    labels = {"karpenter.sh/nodepool": pool.name}
    try:
        text = _placed(goal, None, labels, pool.taints)
    except InputError:
        return
    name = f"{pool.name}-nodepool.yaml"
    files = [Manifest(name, None, pool_manifest(pool) + new_class), Manifest(goal.path, goal.written, text)]
    yield Move("new-pool", pool.name, tuple(files), (claim("move.new-pool", pool=pool.name, gpus=pool.gpus), *remarks))


def _by_wider_pool(goal: Goal, pool: NodePool, around: Surroundings) -> Move | None:
    if pool.built_in or (pool_allows(pool, goal.instance) and _within_limit(pool, goal.gpus)):
        return None
    labels = _label(pool.prefix, "instance-gpu-name", goal.instance)
    together = pool.path == goal.path
    try:
        text = _placed(goal, pool, labels, pool.taints)
        before = text if together else around.texts[pool.path]
        after = widen(before, pool, goal.instance, max(_all_gpus(goal), _limit(pool) + goal.gpus))
    except InputError:
        return None
    engine = Manifest(goal.path, goal.written, after if together else text)
    files = (engine,) if together else (Manifest(pool.path, before, after), engine)
    return Move("wider-pool", pool.name, files, (claim("move.wider-pool", pool=pool.name),))


def _by_node_group(goal: Goal) -> Iterator[Move]:
    labels = {_INSTANCE_TYPE: goal.instance.type}
    try:
        text = _placed(goal, None, labels, ())
    except InputError:
        return
    remark = claim("move.node-group", instance=goal.instance.type)
    yield Move("node-group", None, (Manifest(goal.path, goal.written, text),), (remark,))


def _placed(goal: Goal, pool: NodePool | None, labels: Mapping[str, str], taints: Sequence[Taint]) -> str:
    """Write selector and tolerations; what the pod asked for until now gives way where the new node is another."""
    there = labels_in(pool, goal.instance)
    if any(key.startswith(_OF_OTHERS) for key in goal.workload.node_selector or {}):
        raise refused("selector")
    asked = {key: there[key] for key in (goal.workload.node_selector or {}) if key in there}
    text = select_nodes(goal.text, goal.workload, {**asked, **labels})
    text = demand_values(text, goal.workload, there)
    return tolerate(text, goal.workload, taints)


def _lands(goal: Goal, pool: NodePool, labels: Mapping[str, str], around: Surroundings) -> bool:
    """Tell whether the pod, as it will be, gets the planned type first of all with this card."""
    needs = needs_of(goal.workload)._replace(gpus=goal.gpus)
    there = {**labels_in(pool, goal.instance), **labels}
    terms = tuple(tuple(each for each in term if each.key not in there) for term in needs.terms)
    free = Needs(needs.gpus, needs.cpu, needs.memory, terms, tuple(map(_tolerating, pool.taints)))
    open_ = landings(free, [pool], around.instances).open
    card = next((landing for landing in open_ if landing.gpu.name == goal.instance.gpu.name), None)
    return card is not None and any(each.type == goal.instance.type for each in card.instances)


def _tolerating(taint: Taint) -> Mapping[str, str]:
    return {"key": taint.key, "operator": "Exists", "effect": taint.effect}


def _own_labels(goal: Goal) -> Mapping[str, str]:
    """Return the labels that the pod asks for and no instance type has: the new pool must put them on its nodes."""
    there = {**labels_in(None, goal.instance), "karpenter.sh/nodepool": ""}
    return {key: label for key, label in (goal.workload.node_selector or {}).items() if key not in there}


def _node_class(
    *, auto_mode: bool, like: NodePool | None, around: Surroundings, goal: Goal
) -> tuple[NodeClassRef, str, tuple[Claim, ...]]:
    """Return the class of nodes for a new pool, its manifest where it is new, and what to know about it."""
    if auto_mode:
        return like.node_class if like else NodeClassRef(AUTO_MODE, "NodeClass", "default"), "", ()
    if like is None:
        name = pool_name(goal.workload.name)
        remarks = (claim("move.no-pool-given"), claim("move.new-class", name=name))
        return NodeClassRef(KARPENTER, "EC2NodeClass", name), f"---\n{class_manifest(name)}", remarks
    known = around.classes.get(like.node_class.name)
    if known is None or knows_gpu_images(known.get("spec", {})):
        return (
            like.node_class,
            "",
            () if known is not None else (claim("move.class-unseen", name=like.node_class.name),),
        )
    name = f"{like.node_class.name}-gpu"
    copied = f"---\n{class_like(known, name)}"
    return like.node_class._replace(name=name), copied, (claim("move.own-image", name=like.node_class.name),)


def _stand_ins(planned: Instance, instances: Sequence[Instance]) -> tuple[Instance, ...]:
    """Return the planned type and a few others with as many of the same card, which may be had when it may not."""
    price = planned.price
    same = [
        each
        for each in instances
        if (each.gpu.name, each.gpus, each.arch) == (planned.gpu.name, planned.gpus, planned.arch)
        and each.type != planned.type
        and each.capacity == planned.capacity
        and (price is None or (each.price is not None and each.price <= price * _MOST_PRICE))
    ]
    return (planned, *sorted(same, key=price_rank)[: _MOST_TYPES - 1])


def _all_gpus(goal: Goal) -> int:
    """Return the GPUs of all replicas, and of one more machine where a rollout starts the new pod beside the old."""
    strategy = goal.workload.strategy
    surge = 0 if strategy is not None and (strategy.type == "Recreate" or strategy.max_surge == "0") else 1
    return goal.instance.gpus * ((goal.workload.replicas or 1) + surge)


def _within_limit(pool: NodePool, gpus: int) -> bool:
    return _GPU not in pool.limits or _limit(pool) >= gpus


def _limit(pool: NodePool) -> int:
    return parse_quantity(pool.limits[_GPU]) if _GPU in pool.limits else 0


def _ambiguous(goal: Goal, around: Surroundings) -> bool:
    """Tell whether cards of different memory have the same label, as A100 of 40 and 80 GB do."""
    name = goal.instance.labels.get("instance-gpu-name")
    same = (each.labels for each in around.instances if each.labels.get("instance-gpu-name") == name)
    return len({labels.get("instance-gpu-memory") for labels in same}) > 1


def _label(prefix: str, name: str, instance: Instance) -> dict[str, str]:
    return {f"{prefix}/{name}": instance.labels[name]} if name in instance.labels else {}


def _same_pool(pool: NodePool) -> Claim:
    return claim("move.selector", pool=pool.name)
