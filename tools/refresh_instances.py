"""Write src/oomedic/data/instances.toml anew from a facts file of accelerated EC2 instance types.

    python tools/refresh_instances.py FACTS.json [--write]

Without --write it prints what would change. EC2's own figure of GPU memory is never taken: usable memory per GPU stands
with the card in gpus.toml.
"""

import argparse
import difflib
import json
import sys
from pathlib import Path
from typing import Any

TARGET = Path(__file__).resolve().parent.parent / "src/oomedic/data/instances.toml"
HEAD = """\
# Accelerated EC2 instance types. gpu names a card of gpus.toml, whose usable memory counts; EC2's own figure is larger.
# cuda = false: not for vLLM's CUDA images (AMD, Neuron, video). gpus = 0: a fraction of a card (g6f).
# Prices are on-demand, per region, with the day they were read.
"""


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
    sys.stdout.writelines(
        difflib.unified_diff(before.splitlines(keepends=True), text.splitlines(keepends=True), "now", "then")
    )
    return 0


def table(row: dict[str, Any]) -> str:
    """Write one instance type as TOML."""
    values = {
        "type": row["instance_type"],
        "gpu": row["gpu_name"],
        "gpus": row["gpu_count"],
        "cuda": row["cuda"],
        "vcpu": row["vcpu"],
        "memory": f"{row['memory_gib']:g} GiB" if row["memory_gib"] is not None else None,
        "arch": row["arch"],
        "local_disk_gb": row["local_nvme_gb"],
        "network_mbps": row["network_baseline_mbps"],
        "nvlink": bool(row["gpu_interconnect"]),
        "interconnect": row["gpu_interconnect"],
        "karpenter_gpu_name": row["karpenter_labels"].get("karpenter.k8s.aws/instance-gpu-name"),
        "allocatable_memory": (row["kubernetes_allocatable"] or {}).get("memory"),
        "price": {"us-east-1": row["on_demand_usd_per_hour_us_east_1"]}
        if row["on_demand_usd_per_hour_us_east_1"] is not None
        else None,
        "price_date": row["price_date"],
        "price_source": row["price_source"],
        "source": row["facts_source"],
        "note": row["note"],
    }
    return "".join(f"{key} = {written(value)}\n" for key, value in values.items() if value is not None)


def written(value: Any) -> str:
    """Write one value as TOML."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {written(item)}" for key, item in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    sys.exit(main())
