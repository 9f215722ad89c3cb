"""How often the first finding is right: over reported crashes, and over whole logs of the real engine.

    python benchmarks/diagnosis.py [CRASHES.jsonl] [--taxonomy 2,3,4,5,6,7] [--json]

A case counts when its excerpt decides it (``decidable``). Each is given to the tool as its reporter would have: the log
lines, the arguments, version and GPU where they are known.
"""

import argparse
import json
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import cases
from oomedic.errors import OomedicError
from oomedic.pipeline import Library, diagnose_crash


def main() -> int:
    """Print the table, or with --json one object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", nargs="?", type=Path, default=cases.default("crashes.jsonl"))
    parser.add_argument("--taxonomy", help="groups of the case taxonomy, such as 2,3,4")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    groups = {int(group) for group in options.taxonomy.split(",")} if options.taxonomy else None
    rows = list(judged(cases.read(options.path), groups))
    if options.json:
        print(json.dumps(summary(rows) | {"cases": rows}))
    else:
        show(rows)
    return 0


def judged(records: Iterable[cases.Case], groups: set[int] | None) -> Iterable[dict[str, Any]]:
    """Diagnose each case of the groups."""
    library = cases.library()
    for case in records:
        if groups is None or case["taxonomy"] in groups:
            yield judge(case, library)


def judge(case: cases.Case, library: Library) -> dict[str, Any]:
    """Diagnose one case and compare its first finding."""
    row = {
        "id": case["id"],
        "taxonomy": case["taxonomy"],
        "decidable": bool(case.get("decidable", True)),
        "expected": case["expected_codes"],
        "found": [],
        "traceback": None,
    }
    try:
        report = diagnose_crash(cases.question(case, library, with_log=True), library)
    except OomedicError as error:
        row["refused"] = error.slug
    except Exception:  # noqa: BLE001 - a traceback is a result here: it is counted and shown
        row["traceback"] = traceback.format_exc()
    else:
        diagnosis = report.results[0].diagnosis
        row["found"] = [finding.code for finding in diagnosis.findings] if diagnosis else []
    row["right"] = bool(row["found"]) and row["found"][0] in case["expected_codes"]
    return row


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the figures of the README."""
    decided = [row for row in rows if row["decidable"]]
    return {
        "cases": len(rows),
        "decidable": len(decided),
        "right": sum(row["right"] for row in decided),
        "share": sum(row["right"] for row in decided) / len(decided) if decided else None,
        "tracebacks": sum(row["traceback"] is not None for row in rows),
        "undecidable_right": sum(row["right"] for row in rows if not row["decidable"]),
    }


def show(rows: list[dict[str, Any]]) -> None:
    """Print a line per case and the share."""
    for row in rows:
        mark = "right" if row["right"] else "-" if not row["decidable"] else "WRONG"
        found = " ".join(row["found"]) or row.get("refused") or "not recognised"
        print(f"{mark:6} {row['taxonomy']:>2} {row['id']:28} expected {'/'.join(row['expected']):26} found {found}")
        if row["traceback"]:
            print(row["traceback"])
    figures = summary(rows)
    if figures["decidable"]:
        print(
            f"\n{figures['right']} of {figures['decidable']} decidable cases right ({figures['share']:.1%}), "
            f"{figures['tracebacks']} tracebacks; {figures['undecidable_right']} of "
            f"{figures['cases'] - figures['decidable']} undecidable ones among the expected codes"
        )


if __name__ == "__main__":
    sys.exit(main())
