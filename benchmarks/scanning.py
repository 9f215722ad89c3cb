"""How long a large log takes against ``grep -F`` with the same literals, and how much memory (``speed.py --log``).

The log is that of a server for days: requests, answers and statistics of which many hold a literal, a crash at its end.
Both read it from the disk's cache, in turn. Target: within 2 x of grep; the memory does not grow with the log.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from oomedic.sources.builtin import load

TARGET = 2.0
BLOCK = 20_000
CRASH = Path(__file__).resolve().parent.parent / "examples/llama-scout-g5/previous-kv-cache.log"
SERVED = '(APIServer pid=1) INFO:     10.0.{0}.{1}:{2} - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'
ASKED = (
    "(APIServer pid=1) INFO 10-12 09:{0:02d}:{1:02d} [logger.py:42] Received request chatcmpl-{2:032x}: prompt: {3!r}, "
    "params: SamplingParams(n=1, temperature=0.7, top_p=0.95, max_tokens=1024)\n"
)
COUNTED = (
    "(APIServer pid=1) INFO 10-12 09:{0:02d}:00 [loggers.py:127] Engine 000: Avg prompt throughput: {1}.0 tokens/s, "
    "Avg generation throughput: {1}.5 tokens/s, Running: {0} reqs, Waiting: 0 reqs, GPU KV cache usage: {0}.1%\n"
)


def measure(folder: Path, megabytes: int, runs: int) -> dict[str, object]:
    """Measure both on a log of this size, and the memory also on one of an eighth of it."""
    grep = shutil.which("grep")
    if grep is None:
        raise SystemExit("grep is missing: it is what the time is measured against")
    literals = folder / "literals"
    literals.write_text("\n".join(all_literals()) + "\n", encoding="utf-8")
    large, small = (write_log(folder / f"{size}.log", size) for size in (megabytes, max(1, megabytes // 8)))
    searching = [grep, "-c", "-F", "-f", str(literals), str(large)]
    run(searching)  # once to fill the disk's cache
    pairs = [(run(searching)[0], run(diagnosis(large))) for _ in range(runs)]
    ratios = [took / grepped for grepped, (took, _) in pairs]
    return {
        "command": f"diagnose {megabytes} MB",
        "seconds": median(took for _, (took, _) in pairs),
        "grep_seconds": median(grepped for grepped, _ in pairs),
        "grep_ratio": median(ratios),
        "grep_ratio_worst": max(ratios),
        "target_ratio": TARGET,
        "literals": len(all_literals()),
        "peak_mb": max(peak for _, (_, peak) in pairs),
        "peak_mb_of_an_eighth": run(diagnosis(small))[1],
        "runs": runs,
    }


def all_literals() -> list[str]:
    """Return every literal of every signature."""
    return sorted({literal for signature in load().signatures() for literal in signature["contains"]})


def diagnosis(log: Path) -> list[str]:
    """Return the command line that reads a log."""
    cli = "import sys; from oomedic.entrypoints.cli import process; sys.exit(process())"
    return [sys.executable, "-c", cli, "diagnose", "--offline", "--logs", str(log)]


def write_log(path: Path, megabytes: int) -> Path:
    """Write the log of a server that served for days and then crashed."""
    block = "".join(served()).encode()
    with path.open("wb") as file:
        while file.tell() < megabytes * 10**6:
            file.write(block)
        file.write(CRASH.read_bytes())
    return path


def served() -> Iterator[str]:
    """Yield what a server prints: seven lines of ten are answers, two are requests, one is statistics."""
    for number in range(BLOCK):
        if number % 10 < 7:
            yield SERVED.format(number % 256, number % 199, 30_000 + number % 9999)
        elif number % 10 < 9:
            yield ASKED.format(number % 60, number % 59, number, "tell me about gpu memory " * (number % 8))
        else:
            yield COUNTED.format(number % 60, number % 997)


def run(command: list[str]) -> tuple[float, float]:
    """Run a command; return its seconds and the most memory that it held, in MB.

    Its output goes to a file: grep stops at the first match when it writes to /dev/null.
    """
    environment = os.environ | {"LC_ALL": "C"}
    with tempfile.TemporaryFile() as output:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=output, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        took = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode > 1:
        raise SystemExit(f"{command[:4]}: exit status {process.returncode}")
    return took, usage.ru_maxrss / 1000


def table(row: dict[str, object]) -> str:
    """Return the row as text."""
    return (
        f"{row['command']}: {row['grep_ratio']:.2f} x grep -F with the same {row['literals']} literals "
        f"(worst of {row['runs']}: {row['grep_ratio_worst']:.2f}, target {row['target_ratio']:.0f}); "
        f"{row['seconds']:.1f} s against {row['grep_seconds']:.1f} s\n"
        f"memory at most {row['peak_mb']:.0f} MB; {row['peak_mb_of_an_eighth']:.0f} MB for an eighth of the log"
    )
