"""EC2 instance types: which card they have, how many, and what they cost."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from oomedic.gpu import Gpu

Row = Mapping[str, Any]

INSTANCE_LABELS = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
_PART_LABELS = {
    "karpenter.k8s.aws/instance-family": lambda kind: kind.partition(".")[0],
    "karpenter.k8s.aws/instance-category": lambda kind: kind[:1],
    "eks.amazonaws.com/instance-family": lambda kind: kind.partition(".")[0],
    "eks.amazonaws.com/instance-category": lambda kind: kind[:1],
}


class Instance(NamedTuple):
    """One instance type. ``price`` is in US dollars per hour on demand, None where it is not known."""

    type: str
    gpu: Gpu
    gpus: int
    price: float | None
    price_date: str | None
    region: str


def cheapest_of_each(instances: Iterable[Instance]) -> tuple[Instance, ...]:
    """Return the cheapest type of each card and number, in the order of price; those without a price come last."""
    best: dict[tuple[str, int], Instance] = {}
    for instance in instances:
        key = (instance.gpu.name, instance.gpus)
        if key not in best or _price(instance) < _price(best[key]):
            best[key] = instance
    return tuple(sorted(best.values(), key=_price))


def cards_of_labels(labels: Mapping[str, str], rows: Iterable[Row]) -> frozenset[str]:
    """Return the cards that nodes with these labels can have; none when the labels do not tell."""
    rows = [row for row in rows if row.get("gpu") and row.get("cuda")]
    exact = [labels[label] for label in INSTANCE_LABELS if label in labels]
    if exact:
        return frozenset(row["gpu"] for row in rows if row["type"] == exact[0])
    asked = {label: labels[label] for label in _PART_LABELS if label in labels}
    if not asked:
        return frozenset()
    return frozenset(
        row["gpu"] for row in rows if all(_PART_LABELS[label](row["type"]) == value for label, value in asked.items())
    )


def _price(instance: Instance) -> float:
    return float("inf") if instance.price is None else instance.price
