"""How well whole logs of the real engine are read: cause, its line, healthy starts, ends without a word, secrets.

    python benchmarks/whole_logs.py [FOLDER | ARCHIVE] [--all] [--json]

Each log is given alone, as `kubectl logs --previous` would return it: no command line, no manifest, no exit code.
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
from oomedic.pipeline import Library, Log, Question, diagnose_crash
from oomedic.reports.draw import Pen
from oomedic.reports.json import render as as_json
from oomedic.reports.markdown import render as as_markdown
from oomedic.reports.phrases import Phrasebook
from oomedic.reports.text import Style, render
from oomedic.reports.yaml import render as as_yaml
from oomedic.result import Report

SECRETS = ("sk-CANARY", "hf_CANARY")
FROM_OUTSIDE = ("HOST", "POD")


def main() -> int:
    """Print what is wrong and the shares, or with --json one object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", nargs="?", type=Path, default=cases.default("real_logs"))
    parser.add_argument("--all", action="store_true", help="also list the logs that are read right")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    library = cases.library()
    rows = [judge(case, log, library) for case, log in cases.whole_logs(options.path)]
    if options.json:
        print(json.dumps(summary(rows) | {"logs": rows}))
    else:
        show(rows, everything=options.all)
    return 0


def judge(case: cases.Case, log: bytes, library: Library) -> dict[str, Any]:
    """Diagnose one log and compare."""
    row = {"file": case["file"], "outcome": case["outcome"], "expected": case["expected_codes"], "found": []}
    row |= {"expected_line": case["first_cause_line"], "line": None, "traceback": None, "leaks": []}
    try:
        report = diagnose_crash(Question((Log(case["file"], [log]),)), library)
    except OomedicError as error:
        row["refused"] = error.slug
    except Exception:  # noqa: BLE001 - a traceback is a result here: it is counted and shown
        row["traceback"] = traceback.format_exc()
    else:
        first = report.results[0]
        findings = first.diagnosis.findings if first.diagnosis else ()
        row |= {"found": [finding.code for finding in findings], "told": first.outcome}
        row |= {"line": findings[0].line if findings else None, "leaks": leaks(report, library)}
    row["right"] = right(row)
    return row


def right(row: dict[str, Any]) -> bool:
    """Tell whether the answer is the right one for a crash, a healthy start, or an end from outside."""
    found = row["found"]
    if row["outcome"] == "starts":
        return not found and row["told"] == "starts"
    if row["outcome"] == "killed" and not found:
        return bool(row["told"] == "unknown")
    return bool(found) and found[0] in row["expected"]


def leaks(report: Report, library: Library) -> list[str]:
    """Return the formats in which a secret of the log appears."""
    phrases = Phrasebook(library.catalogue.messages())
    names = {code: str(library.catalogue.page(code)["name"]) for code in library.catalogue.codes()}
    style = Style(phrases, Pen(colour=False), names, 100)
    texts = {
        "text": render(report, style),
        "json": as_json(report, phrases),
        "yaml": as_yaml(report, phrases),
        "markdown": as_markdown(report, phrases, names),
    }
    return [name for name, text in texts.items() if any(secret in text for secret in SECRETS)]


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the figures of the README."""
    crashes = [row for row in rows if row["outcome"] == "crashes"]
    found = [row for row in crashes if row["right"]]
    same_line = [row for row in found if row["line"] == row["expected_line"]]
    return {
        "logs": len(rows),
        "crashes": share(crashes),
        "healthy": share([row for row in rows if row["outcome"] == "starts"]),
        "killed": share([row for row in rows if row["outcome"] == "killed"]),
        "line": {"right": len(same_line), "of": len(crashes), "share": _ratio(len(same_line), len(crashes))},
        "tracebacks": sum(row["traceback"] is not None for row in rows),
        "leaks": sum(bool(row["leaks"]) for row in rows),
    }


def share(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Count the right ones."""
    number = sum(row["right"] for row in rows)
    return {"right": number, "of": len(rows), "share": _ratio(number, len(rows))}


def show(rows: Iterable[dict[str, Any]], *, everything: bool) -> None:
    """Print a line per log that is wrong or points at another line, then the shares."""
    rows = list(rows)
    for row in rows:
        elsewhere = row["outcome"] == "crashes" and row["line"] != row["expected_line"]
        if not everything and row["right"] and not elsewhere and not row["leaks"]:
            continue
        mark = "WRONG" if not row["right"] else "line" if elsewhere else "right"
        found = " ".join(row["found"]) or row.get("refused") or f"none ({row.get('told')})"
        lines = f"line {row['line']} for {row['expected_line']}"
        print(f"{mark:6} {row['file']:52} expected {'/'.join(row['expected']) or '-':20} found {found:24} {lines}")
        if row["traceback"]:
            print(row["traceback"])
    figures = summary(rows)
    print()
    for name in ("crashes", "healthy", "killed", "line"):
        part = figures[name]
        print(f"{name:8} {part['right']:4} of {part['of']:4}  {part['share'] or 0:.1%}")
    print(f"{figures['tracebacks']} tracebacks, {figures['leaks']} logs whose secret appears in an output")


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


if __name__ == "__main__":
    sys.exit(main())
