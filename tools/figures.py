"""Measure what README and docs/limits.md state, on the project's own cases, and keep it in docs/figures.json.

    python tools/figures.py            measure and write (minutes)
    python tools/figures.py --check    fail when a figure is no longer what was written

tools/build_docs.py puts the figures into the pages. Speed is a ratio and differs a little each time: it is not checked.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs/figures.json"
DIGITS = 4


def main() -> int:
    """Measure, then write or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    before: dict[str, Any] = json.loads(TARGET.read_text(encoding="utf-8")) if TARGET.exists() else {}
    now = {"diagnosis": diagnosis(), "whole_logs": whole_logs(), "accuracy": accuracy(), "oracle": oracle()}
    if check:
        different = [name for name, figures in now.items() if before.get(name) != figures]
        for name in different:
            print(f"{name}: {json.dumps(before.get(name))}\n  now: {json.dumps(now[name])}")
        return 1 if different else 0
    text = json.dumps(now | {"speed": speed(), "scan": scan()}, indent=1) + "\n"
    TARGET.write_text(text, encoding="utf-8")
    return 0


def diagnosis() -> dict[str, Any]:
    """Return how many recorded crashes are told right."""
    wanted = ("decidable", "right", "undecidable", "undecidable_say_what_is_missing", "fix_offered", "fix_recorded")
    found = _run("diagnosis.py")
    wrong = ("blamed_on_gpu_memory", "gpu_memory_blamed_on_else", "tracebacks", "harmful_offers")
    return {name: found[name] for name in (*wanted, *wrong)}


def whole_logs() -> dict[str, Any]:
    """Return how many whole logs of the real engine are told right."""
    found = _run("whole_logs.py")
    return {name: found[name] for name in ("crashes", "healthy", "killed", "line", "tracebacks", "leaks")}


def accuracy() -> dict[str, Any]:
    """Return errors per era against what engines printed."""
    found = _run("accuracy.py")
    crossed = _run("accuracy.py", "--leave-one-source-out")
    return {"figures": _rounded(found["figures"]), "left_out": len(found["left_out"]), "crossed": _rounded(crossed)}


def oracle() -> dict[str, Any]:
    """Return how many records of vLLM's own classes are met."""
    total: dict[str, Any] = _run("oracle.py")["total"]
    return total


def speed() -> dict[str, float]:
    """Return how many times plain Python's start each command takes."""
    return {row["command"]: round(row["minimum_ratio"], 1) for row in _run("speed.py")}


def scan() -> dict[str, float]:
    """Return how many times as long as grep a large log takes, and the memory for it, in MB."""
    (row,) = _run("speed.py", "--log")
    return {"grep_ratio": round(row["grep_ratio"], 1), "peak_mb": round(row["peak_mb"])}


def _run(script: str, *words: str) -> Any:
    line = [sys.executable, str(ROOT / "benchmarks" / script), "--json", *words]
    return json.loads(subprocess.run(line, check=True, capture_output=True, text=True).stdout)


def _rounded(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: _rounded(value) for key, value in tree.items()}
    return round(tree, DIGITS) if isinstance(tree, float) else tree


if __name__ == "__main__":
    sys.exit(main())
