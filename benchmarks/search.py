"""How long the search for instance types takes, against a full scan that assesses every candidate.

    python benchmarks/search.py [--runs 10] [--json]

Warm, in one process: the catalogue is loaded, the model is known. The full scan looks at every instance type and
assesses every candidate in full; the search looks at each card and number of cards once, works out once what is the
same on many cards, and assesses in full only what a bound does not rule out. Both must give the same answers; the
shortest of several runs counts, for others may work on the machine. Target: 50 ms.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable

from oomedic.arguments.given import EngineArgs, Given
from oomedic.catalogue import Catalogue
from oomedic.errors import UsageError
from oomedic.gathering.gather import EngineOptions
from oomedic.instance import Instance, instances_of, large_enough
from oomedic.memory.assessment import assess
from oomedic.question import Library, Question
from oomedic.search.answer import Answer, answer_of
from oomedic.search.bench import Bench
from oomedic.search.instances import acceptable, rank, search
from oomedic.search.knobs import ladder
from oomedic.search.splits import Split, splits
from oomedic.search.wish import Wish
from oomedic.sizing import Order, wish_of
from oomedic.sources.builtin import load

TARGET = 0.050
CASES = (
    ("meta-llama/Llama-3.1-8B-Instruct", 8192, 16, False),
    ("meta-llama/Llama-3.3-70B-Instruct", 32768, 1, False),
    ("meta-llama/Llama-3.3-70B-Instruct", 32768, 16, True),
    ("meta-llama/Llama-4-Scout-17B-16E-Instruct", 32768, 1, False),
    ("Qwen/Qwen3-30B-A3B", 32768, 8, True),
    ("deepseek-ai/DeepSeek-V3", 32768, 4, False),
    ("google/gemma-3-27b-it", 32768, 8, False),
    ("openai/gpt-oss-120b", 65536, 8, False),
)
"""Model, tokens of one request, requests at once, whether quantised copies may be offered."""


def main() -> int:
    """Measure, and print a table or an object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    catalogue = load()
    instances = instances_of(catalogue.instances(), catalogue.gpu)
    rows = [row(case, catalogue, instances, options.runs) for case in CASES]
    print(json.dumps({"target": TARGET, "instances": len(instances), "rows": rows}) if options.json else table(rows))
    return 0 if all(each["same"] for each in rows) else 1


def row(
    case: tuple[str, int, int, bool], catalogue: Catalogue, instances: tuple[Instance, ...], runs: int
) -> dict[str, object]:
    """Measure one case."""
    model, context, concurrency, quantized = case
    wish = make_wish(catalogue, model, Order(context, concurrency, allow_quantized=quantized))
    found, seconds, cpu = timed(lambda: search(wish, instances), runs)
    scanned, full, _ = timed(lambda: full_scan(wish, instances), 1)
    return {
        "model": model,
        "context": context,
        "concurrency": concurrency,
        "checkpoints": len(wish.contenders),
        "answers": len(found),
        "same": [summary(each) for each in found] == [summary(each) for each in scanned],
        "search_s": seconds,
        "search_cpu_s": cpu,
        "full_scan_s": full,
    }


def make_wish(catalogue: Catalogue, model: str, order: Order) -> Wish:
    """Return what the command line asks of the search."""
    command = EngineArgs({"model": Given(model, "benchmark")})
    question = Question(command=command, options=EngineOptions())
    return wish_of(question, Library(catalogue, "benchmark"), order)


def full_scan(wish: Wish, instances: tuple[Instance, ...]) -> tuple[Answer, ...]:
    """Assess every candidate of every instance type; keep the cheapest type of each card and number."""
    best: dict[tuple[str, int], Answer] = {}
    for instance in filter(large_enough, instances):
        answer = next(scanned(wish, instance), None)
        key = (instance.gpu.name, instance.gpus)
        if answer is not None and (key not in best or rank(answer) < rank(best[key])):
            best[key] = answer
    return tuple(sorted(best.values(), key=rank))


def scanned(wish: Wish, instance: Instance):  # noqa: ANN201 - an iterator of answers
    """Yield every candidate that fits, in their order, each assessed from nothing."""
    for contender in wish.contenders:
        bench = Bench(contender, wish)
        if not bench.runs_on(instance.gpu):
            continue
        for split in divisible(bench, instance):
            default = bench.configured(split, {}, instance.gpu)
            for changes in ({}, *ladder(default, wish, instance.gpu)):
                config = bench.configured(split, changes, instance.gpu)
                assessment = assess(contender.checkpoint, config, instance.gpu)
                if acceptable(assessment, wish):
                    yield answer_of(instance, bench, split, changes, assessment)


def divisible(bench: Bench, instance: Instance) -> list[Split]:
    """Return the first two ways to split the model over as many cards as it can use."""
    found: list[Split] = []
    for split in splits(instance.gpus):
        if len(found) == 2 or (found and split.ranks < found[0].ranks):
            break
        try:
            assess(bench.contender.checkpoint, bench.configured(split, {}, instance.gpu), instance.gpu)
        except UsageError:
            continue
        found.append(split)
    return found


def summary(answer: Answer) -> tuple[object, ...]:
    """Return what must be equal."""
    return (
        answer.instance.type,
        answer.contender.checkpoint.id,
        tuple(answer.split),
        tuple(sorted(answer.changes.items())),
        answer.concurrency,
    )


def timed(work: Callable[[], tuple[Answer, ...]], runs: int) -> tuple[tuple[Answer, ...], float, float]:
    """Return the answers, and the shortest times, on the clock and on the CPU, of several runs after a first one."""
    found = work()
    times, cpu = [], []
    for _ in range(runs):
        start, busy = time.perf_counter(), time.process_time()
        work()
        times.append(time.perf_counter() - start)
        cpu.append(time.process_time() - busy)
    return found, min(times), min(cpu)


def table(rows: list[dict[str, object]]) -> str:
    """Return the rows as text."""
    counts = f"{'tokens':>7}{'at once':>8}{'copies':>7}{'found':>6}"
    head = f"{'model':<44}{counts}{'search ms':>10}{'CPU ms':>8}{'scan ms':>9}  same"
    return "\n".join([head, *map(line, rows)])


def line(row: dict[str, object]) -> str:
    """Return one row as text."""
    counts = f"{row['context']:>7}{row['concurrency']:>8}{row['checkpoints']:>7}{row['answers']:>6}"
    times = f"{1e3 * row['search_s']:>10.1f}{1e3 * row['search_cpu_s']:>8.1f}{1e3 * row['full_scan_s']:>9.0f}"
    return f"{row['model']:<44}{counts}{times}  {'yes' if row['same'] else 'NO'}"


if __name__ == "__main__":
    sys.exit(main())
