"""Feed oomedic generated and mutated logs, with other files beside them: no traceback, no hang, no secret.

    python tools/fuzz.py [--runs 100000] [--seed 0] [--jobs N] [--no-giants]
    python tools/fuzz.py --only 4711            one run again, with its traceback

A run may end with a report or with one of oomedic's own errors. Each report is written in every format, and none may
hold a secret of its input. A number always gives the same input. The giants come last: a line of 50 MB, a billion
carriage returns, bait for patterns.
"""

import argparse
import os
import signal
import sys
import time
import traceback
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple

import fuzz_inputs
from fuzz_inputs import SECRETS, Corpus
from oomedic import __version__
from oomedic.errors import OomedicError
from oomedic.pipeline import diagnose_crash
from oomedic.question import Library, Log, Question
from oomedic.reports.draw import Pen
from oomedic.reports.json import render as as_json
from oomedic.reports.markdown import render as as_markdown
from oomedic.reports.phrases import Phrasebook
from oomedic.reports.text import Style, render
from oomedic.reports.yaml import render as as_yaml
from oomedic.sources.builtin import load

sys.path.append(str(Path(__file__).resolve().parent.parent / "benchmarks"))
import cases

SECONDS: Final = 20
SECONDS_OF_A_GIANT: Final = 120
BATCH: Final = 100
MB: Final = 10**6


class Bench(NamedTuple):
    """What every run of a process needs."""

    library: Library
    corpus: Corpus
    phrases: Phrasebook
    style: Style


class Failure(NamedTuple):
    """One run that did not end as it must."""

    number: int | str
    what: str
    detail: str


def main() -> int:
    """Run all, and print what failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", type=int, metavar="NUMBER", help="one run alone")
    parser.add_argument("--no-giants", action="store_true", help="leave out the largest inputs")
    options = parser.parse_args()
    start = time.perf_counter()
    failed = 0
    for failure in failures(options):
        failed += 1
        print(f"run {failure.number}: {failure.what}\n{failure.detail}", flush=True)
    took = time.perf_counter() - start
    runs = 1 if options.only is not None else options.runs
    print(f"{runs} runs with seed {options.seed} in {took:.0f} s: {failed} failed")
    return 1 if failed else 0


def failures(options: argparse.Namespace) -> Iterator[Failure]:
    """Yield what fails, as it fails."""
    if options.only is not None:
        yield from batch(([options.only], options.seed))
        return
    yield from shown(options)
    if not options.no_giants:
        yield from giants()


def shown(options: argparse.Namespace) -> Iterator[Failure]:
    """Run the numbers in batches over some processes, and tell how far it is."""
    numbers = range(options.runs)
    batches = [(list(numbers[at : at + BATCH]), options.seed) for at in range(0, len(numbers), BATCH)]
    done = 0
    with ProcessPoolExecutor(options.jobs) as pool:
        for found in pool.map(batch, batches):
            done += BATCH
            if done % (50 * BATCH) == 0:
                print(f"{min(done, options.runs)} runs", file=sys.stderr)
            yield from found


def batch(numbers: tuple[list[int], int]) -> list[Failure]:
    """Run some numbers in this process."""
    found = bench()
    return [failure for number in numbers[0] for failure in run(number, numbers[1], found)]


_BENCH: list[Bench] = []


def bench() -> Bench:
    """Return what the runs of this process share, made once."""
    if not _BENCH:
        catalogue = load()
        phrases = Phrasebook(catalogue.messages())
        names = {code: str(catalogue.page(code)["name"]) for code in catalogue.codes()}
        logs = (content for _, content in cases.whole_logs(cases.default("real_logs")))
        corpus = fuzz_inputs.corpus(catalogue, logs)
        _BENCH.append(Bench(Library(catalogue, __version__), corpus, phrases, Style(phrases, Pen(colour=False), names)))
    return _BENCH[0]


def run(number: int, seed: int, found: Bench) -> Iterator[Failure]:
    """Ask one question and look at the answer."""
    asked = fuzz_inputs.question(number, seed, found.corpus, found.library.catalogue)
    yield from answered(number, asked, found, SECONDS)


def answered(number: int | str, asked: Question, found: Bench, seconds: int) -> Iterator[Failure]:
    """Diagnose within some seconds of the processor, write the report in each format, and look for secrets."""
    signal.signal(signal.SIGVTALRM, _too_long)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        texts = dict(written(asked, found, yaml=isinstance(number, int) and number % 10 == 0))
    except OomedicError:
        return
    except Exception as error:  # noqa: BLE001 - whatever is raised is what is looked for
        yield Failure(number, type(error).__name__, traceback.format_exc())
        return
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    for name, text in texts.items():
        leaked = [secret for secret in SECRETS if secret in text]
        if leaked:
            at = text.index(leaked[0])
            yield Failure(number, f"secret in {name}", text[max(0, at - 200) : at + 100])


def written(asked: Question, found: Bench, *, yaml: bool) -> Iterator[tuple[str, str]]:
    """Yield the report in each format; YAML holds what JSON holds, and takes longer than all the rest."""
    report = diagnose_crash(asked, found.library)
    yield "text", render(report, found.style)
    yield "json", as_json(report, found.phrases)
    yield "markdown", as_markdown(report, found.phrases, found.style.names)
    if yaml:
        yield "yaml", as_yaml(report, found.phrases)


def giants() -> Iterator[Failure]:
    """Feed what is too large to be held: it is streamed, and its parts are what patterns find hard."""
    found = bench()
    crash = found.corpus.logs[-1]
    inputs: dict[str, Iterable[bytes]] = {
        "a line of 50 MB": [b"x" * 50 * MB, b"\n", crash],
        "a line of 50 MB of one literal": [b"CUDA out of memory. Tried to allocate " * (50 * MB // 38), b"\n", crash],
        "a line of 50 MB of brackets": [b"non-default args: ", b"{'a': [" * (50 * MB // 7), b"\n", crash],
        "a billion carriage returns": repeated(b"\r" * MB, 1000, crash),
        "a hundred million lines": repeated(b"\n" * MB, 100, crash),
        "a hundred million NULs": repeated(b"\0" * MB, 100, crash),
        "a record of 50 MB": [b'{"log":"', b"\\u0041" * (50 * MB // 6), b'"}\n', crash],
        "a list of 50 MB of records": [b'{"events":[', b'{"message":"INFO x"},' * (50 * MB // 21), b"{}]}\n", crash],
        "escapes without an end": [b"\x1b[" * (25 * MB), b"\n", crash],
        "progress for ever": repeated(
            b"\rLoading safetensors checkpoint shards:  50% Completed | 1/2" * 1000, 500, crash
        ),
        "a hundred thousand starts": repeated(crash[:1500] + b"\n", 20_000, crash),
    }
    for name, chunks in inputs.items():
        start = time.process_time()
        yield from answered(name, Question((Log(name, chunks),)), found, SECONDS_OF_A_GIANT)
        print(f"{name}: {time.process_time() - start:.1f} s", file=sys.stderr)


def repeated(piece: bytes, times: int, end: bytes) -> Iterator[bytes]:
    """Yield a piece many times, and something at the end."""
    for _ in range(times):
        yield piece
    yield b"\n" + end


def _too_long(_signal: int, _frame: object) -> None:
    raise TimeoutError


if __name__ == "__main__":
    sys.exit(main())
