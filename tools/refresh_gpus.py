"""Merge a catalogue of GPU facts into data/gpus.toml.

    python tools/refresh_gpus.py FACTS.json [--write]

FACTS.json has ``gpus`` (names, nvidia-smi MiB, torch totals seen in public logs) and ``mig_profiles``. Rows and keys
that only gpus.toml has are kept, totals seen are added up, and ``memory`` is the lowest total seen: what a new driver
shows.
Without --write the difference is printed and nothing changes. Runs by hand, never at run time.
"""

import argparse
import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from toml_text import table

GPUS = Path(__file__).resolve().parent.parent / "src/oomedic/data/gpus.toml"
HEADER = """\
# GPUs as the engine sees them. Edit by hand, or merge new facts with tools/refresh_gpus.py.
#
# memory          what torch reports for one device: the lowest total seen in a public log; memory_high: the highest.
#                 A new driver shows 0.1 to 0.2 GiB less than an old one, so a fit is decided on the lowest.
# memory_origin   "assumed" where nobody printed a total: memory_note says how the band was made.
# also_seen       totals of unusual set-ups (WSL2 shows the whole board), which do not widen the band.
# nominal_gb      what the box says; never used as a capacity, because no card shows it.
# Rates are dense. "(recalled)" marks figures from memory that no copy of a data sheet confirmed.

"""
ORDER = (
    "name",
    "vendor",
    "architecture",
    "aliases",
    "product_label",
    "karpenter_name",
    "capability",
    "memory",
    "memory_high",
    "memory_origin",
    "memory_note",
    "nvidia_smi_mib",
    "nominal_gb",
    "memory_type",
    "bandwidth_gb_s",
    "bf16_tflops",
    "fp16_tflops",
    "fp8_tflops",
    "bf16",
    "fp8",
    "fp4",
    "nvlink",
    "unified_memory",
    "note",
    "seen",
    "also_seen",
    "sources",
)
MIG_ORDER = (
    "profile",
    "parents",
    "memory",
    "memory_high",
    "memory_origin",
    "memory_note",
    "max_instances",
    "sms",
    "note",
    "sources",
)
Row = dict[str, Any]


def main() -> None:
    """Read the arguments, show or write the difference."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("facts", type=Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    facts = json.loads(options.facts.read_text())
    old = tomllib.loads(GPUS.read_text()) if GPUS.exists() else {}
    gpus = merged(old.get("gpu", []), [gpu_row(fact) for fact in facts["gpus"]], "name")
    migs = merged(old.get("mig", []), [mig_row(fact) for fact in facts["mig_profiles"]], "parents", "profile")
    text = text_of(gpus, migs)
    if GPUS.exists() and GPUS.read_text() == text:
        print("nothing changes")
        return
    print_difference(old, tomllib.loads(text))
    if options.write:
        GPUS.write_text(text)


def gpu_row(fact: Mapping[str, Any]) -> Row:
    """Return one fact as a row of gpus.toml."""
    label, karpenter = fact["gfd_product_label"], fact["karpenter_gpu_name"]
    spelled = {name.lower() for name in (label, karpenter) if name}
    capability = fact["compute_capability"]
    row = {
        "name": fact["name"],
        "vendor": fact["vendor"],
        "architecture": fact["architecture"],
        "aliases": [alias for alias in fact["aliases"] if alias.lower() not in spelled],
        "product_label": label,
        "karpenter_name": karpenter,
        "capability": None if capability.startswith("gfx") else capability,
        "gfx": capability if capability.startswith("gfx") else None,
        "nvidia_smi_mib": [reading["mib"] for reading in fact["nvidia_smi_total_mib"]],
        "nominal_gb": fact["nominal_gb"],
        "memory_type": fact["memory_type"],
        "bandwidth_gb_s": fact["memory_bandwidth_gb_s"],
        "bf16_tflops": fact["dense_bf16_tflops"],
        "fp16_tflops": fact["dense_fp16_tflops"],
        "fp8_tflops": fact["dense_fp8_tflops"],
        "bf16": fact["supports"]["bf16"],
        "fp8": fact["supports"]["fp8_hardware"],
        "fp4": fact["supports"]["fp4_hardware"],
        "nvlink": bool(fact["nvlink"]),
        "unified_memory": fact["unified_memory"],
        "note": _source(fact["note"]),
        "seen": [_reading(reading) for reading in fact["torch_total_gib"]["seen"]],
        "sources": [_source(source) for source in fact["sources"]],
    }
    return {key: content for key, content in row.items() if content not in (None, [])}


def mig_row(fact: Mapping[str, Any]) -> Row:
    """Return one MIG profile as a row of gpus.toml."""
    row = {
        "profile": fact["profile"],
        "parents": [fact["parent"]],
        "memory": f"{fact['lgip_gib']} GiB" if fact["lgip_gib"] else None,
        "max_instances": fact["max_instances"],
        "sms": fact["sms"],
        "note": _source(fact["note"]),
        "sources": [_source(fact["source"])],
    }
    return {key: content for key, content in row.items() if content is not None}


def merged(old: Iterable[Row], new: Iterable[Row], *keys: str) -> list[Row]:
    """Merge new rows into the old ones by key; lists are added up, and what only the old row has stays."""
    rows = {_identity(row, keys): dict(row) for row in old}
    for fact in new:
        row = rows.setdefault(_identity(fact, keys), {})
        for key, content in fact.items():
            if isinstance(content, list):
                row[key] = row.get(key, []) + [item for item in content if item not in row.get(key, [])]
            elif key not in row:
                row[key] = content
    return [_with_band(row) for row in rows.values()]


def text_of(gpus: Iterable[Row], migs: Iterable[Row]) -> str:
    """Return the file."""
    return HEADER + "\n".join(
        [table("gpu", _ordered(row, ORDER)) for row in gpus] + [table("mig", _ordered(row, MIG_ORDER)) for row in migs]
    )


def print_difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Print which rows come and which keys of them change."""
    for kind, keys in (("gpu", ("name",)), ("mig", ("parents", "profile"))):
        before = {_identity(row, keys): row for row in old.get(kind, [])}
        for row in new.get(kind, []):
            earlier = before.get(_identity(row, keys), {})
            changed = [key for key in row if row[key] != earlier.get(key)]
            if changed:
                print(f"{'~' if earlier else '+'} {' '.join(_identity(row, keys))}: {', '.join(changed)}")


def _identity(row: Mapping[str, Any], keys: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(row[key][0] if isinstance(row[key], list) else row[key] for key in keys)


def _with_band(row: Row) -> Row:
    totals = [reading["gib"] for reading in row.get("seen", [])]
    if totals:
        row |= {"memory": f"{min(totals)} GiB", "memory_high": f"{max(totals)} GiB"}
        row.pop("memory_origin", None)
        row.pop("memory_note", None)
    return row


def _ordered(row: Row, order: tuple[str, ...]) -> Row:
    known = {key: row[key] for key in order if key in row}
    return known | {key: content for key, content in row.items() if key not in known}


def _reading(reading: Mapping[str, Any]) -> Row:
    row = {"gib": reading["gib"], "source": _source(reading["source"]), "note": _source(reading.get("note"))}
    return {key: content for key, content in row.items() if content is not None}


def _source(text: str | None) -> str | None:
    """Say in words what an index number of a public file stands for."""
    return text and re.sub(r"find_string:(\d+)", r"public GitHub file, content id \1", text)


if __name__ == "__main__":
    main()
