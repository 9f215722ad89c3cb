"""EC2 instance types: which cards they have, how many, what else is in them, and what they cost."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal, NamedTuple

from oomedic.gpu import Gpu
from oomedic.units import GIB, MIB, Bytes, parse_quantity, parse_size

Row = Mapping[str, Any]
Capacity = Literal["reservation", "capacity-block"]

REGION: Final = "us-east-1"
"""The region whose prices the catalogue has for every type."""
INSTANCE_LABELS: Final = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
PREFIXES: Final = ("karpenter.k8s.aws", "eks.amazonaws.com")
"""The domains under which Karpenter and EKS Auto Mode write the same labels."""

_SERVER: Final = 5 * GIB
_WORKER: Final = 3 * GIB
"""Resident host memory of the API server with its engine core, and of one worker: assumed. Weights are mapped from
files and need not stay."""


class Prices(NamedTuple):
    """What instance types cost on demand in one region: US dollars per hour by type, and the day they were read."""

    region: str
    date: str | None
    by_type: Mapping[str, float]
    source: str = ""


class Instance(NamedTuple):
    """One instance type with whole cards for CUDA.

    Attributes:
        price: US dollars per hour on demand, None where it is not known.
        region: the region of that price, which may not be the one asked for.
        allocatable_cpu: thousandths of a processor that pods can request of a node.
        allocatable_memory: what pods can request of a node.
        capacity: how it must be had, None where on-demand launches are usual.
        labels: of a node of this type, without their domain (see ``labels_of``).
    """

    type: str
    gpu: Gpu
    gpus: int
    price: float | None
    price_date: str | None
    region: str
    vcpu: int | None = None
    memory: Bytes | None = None
    arch: str | None = None
    local_disk_gb: int | None = None
    interconnect: str | None = None
    nvlink: bool = False
    allocatable_cpu: int | None = None
    allocatable_memory: Bytes | None = None
    capacity: Capacity | None = None
    labels: Mapping[str, str] = {}

    @property
    def family(self) -> str:
        """The part before the dot: "g5"."""
        return self.type.partition(".")[0]


def instances_of(
    rows: Iterable[Row], card: Callable[[str], Gpu], region: str = REGION, prices: Prices | None = None
) -> tuple[Instance, ...]:
    """Read the types that have whole cards for CUDA.

    Args:
        rows: of data/instances.toml.
        card: finds a GPU by its name.
        region: whose prices are wanted; where none is known, that of ``REGION`` stands with its own name.
        prices: newer prices, which win in their region.
    """
    cards: dict[str, Gpu] = {}
    found = []
    for row in rows:
        name = row.get("gpu")
        if name and row.get("gpus") and row.get("cuda"):
            if name not in cards:
                cards[name] = card(name)
            found.append(_instance(row, cards[name], region, prices))
    return tuple(found)


def resident(workers: int) -> Bytes:
    """Return the host memory that the server and its workers keep, weights apart."""
    return _SERVER + _WORKER * workers


def large_enough(instance: Instance) -> bool:
    """Tell whether a machine's own memory holds the server and a worker for each card, weights apart."""
    memory = instance.allocatable_memory
    return memory is None or memory >= resident(instance.gpus)


def cheapest_of_each(instances: Iterable[Instance]) -> tuple[Instance, ...]:
    """Return the cheapest type of each card and number, in the order of price; those without a price come last."""
    best: dict[tuple[str, int], Instance] = {}
    for instance in instances:
        key = (instance.gpu.name, instance.gpus)
        if key not in best or price_rank(instance) < price_rank(best[key]):
            best[key] = instance
    return tuple(sorted(best.values(), key=price_rank))


def price_rank(instance: Instance) -> tuple[float, str]:
    """Rank by price, then by name; what has no price comes last."""
    return (float("inf") if instance.price is None else instance.price, instance.type)


def labels_of(row: Row) -> Mapping[str, str]:
    """Return the labels of a node of this type, without their domain: "instance-family", "instance-gpu-name", ….

    As karpenter-provider-aws pkg/providers/instancetype/types.go computes them; Auto Mode's have the same names.
    """
    family, _, size = row["type"].partition(".")
    letters = family[: next(at for at, sign in enumerate(family) if sign.isdigit())]
    generation = family.removeprefix(letters)
    digits = generation[: next((at for at, sign in enumerate(generation) if not sign.isdigit()), len(generation))]
    labels = {
        "instance-category": letters,
        "instance-family": family,
        "instance-generation": digits,
        "instance-size": size,
        "instance-cpu": row.get("vcpu"),
        "instance-memory": parse_size(row["memory"]) // MIB if row.get("memory") else None,
        "instance-local-nvme": row.get("local_disk_gb"),
    }
    if row.get("label_gpu_name"):
        labels["instance-gpu-name"] = row["label_gpu_name"]
        labels["instance-gpu-manufacturer"] = row.get("maker")
        labels["instance-gpu-count"] = row.get("gpus")
        labels["instance-gpu-memory"] = row.get("label_gpu_memory_mib")
    return {name: str(label) for name, label in labels.items() if label is not None}


def cards_of_labels(labels: Mapping[str, str], rows: Iterable[Row]) -> frozenset[str]:
    """Return the whole cards that nodes with these labels can have; none when the labels do not tell."""
    rows = [row for row in rows if row.get("gpu") and row.get("gpus") and row.get("cuda")]
    exact = [labels[label] for label in INSTANCE_LABELS if label in labels]
    if exact:
        return frozenset(row["gpu"] for row in rows if row["type"] == exact[0].removeprefix("ml."))
    asked = {
        name.partition("/")[2]: value
        for name, value in labels.items()
        if name.startswith(PREFIXES) and "/instance-" in name
    }
    if not asked:
        return frozenset()
    return frozenset(row["gpu"] for row in rows if asked.items() <= labels_of(row).items())


def _instance(row: Row, gpu: Gpu, region: str, prices: Prices | None) -> Instance:
    price, day, where = _price(row, region, prices)
    return Instance(
        type=row["type"],
        gpu=gpu,
        gpus=row["gpus"],
        price=price,
        price_date=day,
        region=where,
        vcpu=row.get("vcpu"),
        memory=parse_size(row["memory"]) if row.get("memory") else None,
        arch=row.get("arch"),
        local_disk_gb=row.get("local_disk_gb"),
        interconnect=row.get("interconnect"),
        nvlink=row.get("nvlink", False),
        allocatable_cpu=_thousandths(row.get("allocatable_cpu")),
        allocatable_memory=parse_quantity(row["allocatable_memory"]) if row.get("allocatable_memory") else None,
        capacity=row.get("capacity"),
        labels=labels_of(row),
    )


def _price(row: Row, region: str, prices: Prices | None) -> tuple[float | None, str | None, str]:
    if prices is not None and prices.region == region and row["type"] in prices.by_type:
        return prices.by_type[row["type"]], prices.date, region
    known: Mapping[str, float] = row.get("price", {})
    where = region if region in known else REGION
    return known.get(where), row.get("price_date"), where


def _thousandths(quantity: str | None) -> int | None:
    if quantity is None:
        return None
    return int(quantity.removesuffix("m")) if quantity.endswith("m") else round(float(quantity) * 1000)
