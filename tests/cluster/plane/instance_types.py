"""The catalogue's EC2 instance types as Karpenter's kwok provider reads them."""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

CATALOGUE = Path(__file__).parents[3] / "src/oomedic/data/instances.toml"
ZONE = "us-east-1a"
AWS = "karpenter.k8s.aws"


def instance_types() -> list[dict[str, Any]]:
    """Return every instance type with whole NVIDIA cards and a price, with AWS' labels."""
    return [_instance_type(row) for row in _rows()]


def gpu_names() -> list[str]:
    """Return the names that Karpenter's labels have for the cards."""
    return sorted({row["label_gpu_name"] for row in _rows()})


def _rows() -> list[Mapping[str, Any]]:
    rows = tomllib.loads(CATALOGUE.read_text(encoding="utf-8"))["instance"]
    return [row for row in rows if row.get("cuda") and row.get("gpus") and row.get("price")]


def _instance_type(row: Mapping[str, Any]) -> dict[str, Any]:
    price = row["price"]["us-east-1"]
    return {
        "name": row["type"],
        "architecture": row["arch"],
        "operatingSystems": ["linux"],
        "resources": {
            "cpu": row["allocatable_cpu"],
            "memory": row["allocatable_memory"],
            "ephemeral-storage": "300Gi",
            "nvidia.com/gpu": str(row["gpus"]),
        },
        "offerings": [{"Price": price, "Available": True, "Requirements": list(_requirements(row))}],
    }


def _requirements(row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    family, _, size = row["type"].partition(".")
    said = {
        "karpenter.sh/capacity-type": "on-demand",
        "topology.kubernetes.io/zone": ZONE,
        f"{AWS}/instance-category": family[0],
        f"{AWS}/instance-family": family,
        f"{AWS}/instance-size": size,
        f"{AWS}/instance-gpu-count": row["gpus"],
        f"{AWS}/instance-gpu-manufacturer": "nvidia",
        f"{AWS}/instance-gpu-name": row["label_gpu_name"],
        f"{AWS}/instance-gpu-memory": row["label_gpu_memory_mib"],
    }
    for key, value in said.items():
        yield {"key": key, "operator": "In", "values": [str(value)]}
