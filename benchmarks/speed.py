"""How long a command takes from start to end, against Python that does nothing.

    python benchmarks/speed.py [--runs 10] [--json]
    python benchmarks/speed.py --log [MB] [--runs 3] [--json]      a large log against grep -F, see scanning.py

Whole processes, one command after the other in turn, so that a busy machine slows all of them alike. Bytecode is
compiled first, as an installer does. Targets: `diagnose` of a log of 200 lines with a manifest within 8 x, `explain`
within 3 x.
"""

import argparse
import compileall
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import oomedic
import scanning

EXAMPLE = Path(__file__).resolve().parent.parent / "examples/llama-scout-g5"
LINES = 200
TARGETS = {"explain": 3.0, "diagnose": 8.0}


def main() -> int:
    """Measure, and print a table or an object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=None, help="10, with --log 3")
    parser.add_argument("--log", type=int, nargs="?", const=1000, metavar="MB", help="a log of this size (1000)")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    compileall.compile_dir(str(Path(oomedic.__file__).parent), quiet=2)
    with tempfile.TemporaryDirectory() as folder:
        if options.log:
            row = scanning.measure(Path(folder), options.log, options.runs or 3)
            print(json.dumps([row]) if options.json else scanning.table(row))
            return 0
        log = Path(folder) / "previous.log"
        log.write_text(long_log(), encoding="utf-8")
        times = measure(commands(log), options.runs or 10)
    rows = summary(times)
    print(json.dumps(rows) if options.json else table(rows))
    return 0


def commands(log: Path) -> dict[str, list[str]]:
    """Return the command line of each thing that is measured."""
    python = [sys.executable]
    cli = [*python, "-c", "import sys; from oomedic.entrypoints.cli import process; sys.exit(process())"]
    manifest = str(EXAMPLE / "deployment.yaml")
    return {
        "python -c pass": [*python, "-c", "pass"],
        "explain": [*cli, "explain", "OOM401"],
        "diagnose": [*cli, "diagnose", "--offline", "--logs", str(log), "--manifest", manifest],
    }


def long_log() -> str:
    """Return the example's log as an engine writes it: below a start-up and the progress of loading."""
    tail = (EXAMPLE / "previous-kv-cache.log").read_text(encoding="utf-8").splitlines()
    head = [
        "INFO 10-12 09:00:00 [__init__.py:216] Automatically detected platform cuda.",
        "(APIServer pid=1) INFO 10-12 09:00:01 [api_server.py:1839] vLLM API server version 0.11.0",
    ]
    shards = LINES - len(head) - len(tail)
    load = "(EngineCore_DP0 pid=99) Loading safetensors checkpoint shards: {0}% Completed | {1}/{2} [00:{1:02d}<00:09]"
    body = [load.format(100 * shard // shards, shard, shards) for shard in range(shards)]
    return "\n".join([*head, *body, *tail, ""])


def measure(lines: dict[str, list[str]], runs: int) -> dict[str, list[float]]:
    """Run each command in turn, once to warm the disk and then ``runs`` times; seconds."""
    environment = {key: text for key, text in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    times: dict[str, list[float]] = {name: [] for name in lines}
    for turn in range(runs + 1):
        for name, line in lines.items():
            start = time.perf_counter()
            ended = subprocess.run(line, stdout=subprocess.DEVNULL, env=environment, check=False)
            took = time.perf_counter() - start
            if ended.returncode > 1:
                raise SystemExit(f"{name}: exit status {ended.returncode}")
            if turn:
                times[name].append(took)
    return times


def summary(times: dict[str, list[float]]) -> list[dict[str, object]]:
    """Return minimum and median in seconds, and each as a multiple of plain Python's."""
    plain = times["python -c pass"]
    return [
        {
            "command": name,
            "minimum": min(taken),
            "median": median(taken),
            "minimum_ratio": min(taken) / min(plain),
            "median_ratio": median(taken) / median(plain),
            "target_ratio": TARGETS.get(name),
            "runs": len(taken),
        }
        for name, taken in times.items()
    ]


def table(rows: list[dict[str, object]]) -> str:
    """Return the rows as text."""
    lines = [f"{'command':<16}{'min ms':>8}{'median':>8}{'x min':>8}{'x median':>10}{'target':>8}"]
    for row in rows:
        target = f"{row['target_ratio']:.0f}" if row["target_ratio"] else ""
        lines.append(
            f"{row['command']:<16}{1e3 * row['minimum']:8.1f}{1e3 * row['median']:8.1f}"
            f"{row['minimum_ratio']:8.1f}{row['median_ratio']:10.1f}{target:>8}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
