"""Write src/oomedic/data/instances.toml anew from a facts file of accelerated EC2 instance types.

    python tools/refresh_instances.py FACTS.json [--write]

Without --write it prints what would change. EC2's own figure of GPU memory is kept for node labels only: usable memory
per GPU, with its origin, stands with the card in gpus.toml.
"""

import argparse
import difflib
import json
import re
import sys
from pathlib import Path
from typing import Any

TARGET = Path(__file__).resolve().parent.parent / "src/oomedic/data/instances.toml"
KARPENTER = "karpenter.k8s.aws/instance-"
HEAD = """\
# Accelerated EC2 instance types. Written by tools/refresh_instances.py; a correction belongs into its input.
#
# gpu             a card of gpus.toml, whose usable memory (and whether it is assumed) counts for every budget.
# gpus            whole cards that a pod can request. 0 with gpu_fraction: a slice of one card, which the device plugin
#                 and Karpenter do not count (g6f, gr6f); no target for vLLM.
# cuda = false    no target for vLLM's CUDA images; accelerator, accelerators and maker say what it is (Neuron, AMD, …).
# label_*         what Karpenter's and EKS Auto Mode's labels say. label_gpu_memory_mib is EC2's advertised figure,
#                 up to 6 % more than a process can use: it selects instances and never enters a budget.
# allocatable_*   what pods can request of a node (AL2023 defaults).
# capacity        "reservation": on-demand launches practically need a reservation or Capacity Block;
#                 "capacity-block": no on-demand price exists at all.
# price           US dollars per hour on demand (Linux), per region, with the day it was read.
"""
RESERVED = re.compile(r"p[56]")
"""Families of which on-demand capacity is rare enough that a plan must say so (EKS user guide, ML capacity)."""


def main() -> int:
    """Print the difference, or write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("facts", type=Path)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    rows = json.loads(arguments.facts.read_text(encoding="utf-8"))["instances"]
    text = HEAD + "".join(f"\n[[instance]]\n{table(row)}" for row in rows)
    if arguments.write:
        TARGET.write_text(text, encoding="utf-8")
        return 0
    before = TARGET.read_text(encoding="utf-8") if TARGET.exists() else ""
    lines = before.splitlines(keepends=True), text.splitlines(keepends=True)
    sys.stdout.writelines(difflib.unified_diff(*lines, "now", "then"))
    return 0


def table(row: dict[str, Any]) -> str:
    """Write one instance type as TOML."""
    values = {**accelerators(row), **machine(row), **costs(row), "source": row["facts_source"], "note": row["note"]}
    return "".join(f"{key} = {written(value)}\n" for key, value in values.items() if value is not None)


def accelerators(row: dict[str, Any]) -> dict[str, Any]:
    """Return what computes in it, and how it is labelled."""
    label = row["karpenter_labels"].get
    count = row["gpu_count"]
    fraction = count if isinstance(count, float) and count < 1 else None
    memory = label(f"{KARPENTER}gpu-memory")
    return {
        "type": row["instance_type"],
        "gpu": row["gpu_name"],
        "gpus": 0 if fraction else count,
        "gpu_fraction": fraction,
        "cuda": row["cuda"],
        "maker": maker(row),
        "accelerator": row["accelerator_name"],
        "accelerators": row["accelerator_count"],
        "nvlink": "NVLink" in (row["gpu_interconnect"] or ""),
        "interconnect": row["gpu_interconnect"],
        "label_gpu_name": label(f"{KARPENTER}gpu-name"),
        "label_gpu_memory_mib": None if memory is None else int(memory),
    }


def maker(row: dict[str, Any]) -> str:
    """Return who makes the accelerator: as the label says, or by the family where no label does."""
    labelled = row["karpenter_labels"].get(f"{KARPENTER}gpu-manufacturer")
    by_family = {"inf": "aws-neuron", "trn": "aws-neuron", "dl2q": "qualcomm", "vt": "xilinx", "p": "nvidia"}
    return labelled or next(name for start, name in by_family.items() if row["family"].startswith(start))


def machine(row: dict[str, Any]) -> dict[str, Any]:
    """Return what else is in it; refuse labels that cannot be derived from type, processors, memory and disk."""
    for key, value in derived(row).items():
        labelled = row["karpenter_labels"].get(f"{KARPENTER}{key}", value)
        if labelled != value:
            sys.exit(f"{row['instance_type']}: label {key} is {labelled}, not {value}")
    allocatable = row["kubernetes_allocatable"] or {}
    return {
        "vcpu": row["vcpu"],
        "memory": f"{row['memory_gib']:g} GiB" if row["memory_gib"] is not None else None,
        "arch": row["arch"],
        "local_disk_gb": row["local_nvme_gb"],
        "network_mbps": row["network_baseline_mbps"],
        "efa_interfaces": row["efa_interfaces"] or None,
        "allocatable_cpu": allocatable.get("cpu"),
        "allocatable_memory": allocatable.get("memory"),
    }


def derived(row: dict[str, Any]) -> dict[str, str]:
    """Return the labels that oomedic works out itself (oomedic.node_labels)."""
    letters, generation = re.match(r"([a-z]+)(\d+)", row["family"]).groups()
    _, _, size = row["instance_type"].partition(".")
    known = {"category": letters, "generation": generation, "family": row["family"], "size": size}
    if row["vcpu"] is not None:
        known["cpu"] = str(row["vcpu"])
    if row["memory_gib"] is not None:
        known["memory"] = str(round(row["memory_gib"] * 1024))
    return known


def costs(row: dict[str, Any]) -> dict[str, Any]:
    """Return how it can be had, and for how much."""
    price = row["on_demand_usd_per_hour_us_east_1"]
    capacity = "reservation" if RESERVED.match(row["family"]) else None
    return {
        "capacity": "capacity-block" if row["cuda"] and price is None else capacity,
        "price": None if price is None else {"us-east-1": price},
        "price_date": row["price_date"],
        "price_source": row["price_source"],
    }


def written(value: Any) -> str:
    """Write one value as TOML."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {written(item)}" for key, item in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    sys.exit(main())
