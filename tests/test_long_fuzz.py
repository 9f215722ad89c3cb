"""A short share of `make fuzz`: the whole of it takes an hour."""

import importlib
from pathlib import Path

import pytest

from oomedic.question import Log, Question

TOOLS = Path(__file__).parent.parent / "tools"
RUNS = 120
MB = 10**6
SECONDS = 20


@pytest.fixture(scope="module")
def fuzz():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(TOOLS))
        patch.syspath_prepend(str(TOOLS.parent / "benchmarks"))
        yield importlib.import_module("fuzz")


def test_generated_and_mutated_logs_end_with_an_answer_in_time_and_tell_no_secret(fuzz):
    assert fuzz.batch((list(range(RUNS)), 2026)) == []


def test_the_same_number_gives_the_same_input(fuzz):
    found = fuzz.bench()
    one, two = (fuzz.fuzz_inputs.question(7, 1, found.corpus, found.library.catalogue) for _ in range(2))
    assert one == two


@pytest.mark.parametrize(
    ("piece", "times"),
    [
        (b"x" * MB, 5),
        (b"\r" * MB, 20),
        (b"\n" * MB, 5),
        (b"CUDA out of memory. Tried to allocate " * 10_000, 10),
        (b"\rLoading safetensors checkpoint shards:  50% Completed | 1/2" * 1000, 20),
        (b"\x1b[" * 100_000, 5),
        (b"non-default args: {'a': [" * 20_000, 2),
    ],
)
def test_what_is_too_large_to_be_held_is_read_in_pieces(fuzz, piece, times):
    crash = fuzz.bench().corpus.logs[-1]
    asked = Question((Log("giant", fuzz.repeated(piece, times, crash)),))
    assert list(fuzz.answered("giant", asked, fuzz.bench(), SECONDS)) == []


def test_a_leak_and_a_traceback_would_be_seen(fuzz, monkeypatch):
    found = fuzz.bench()
    asked = Question((Log("x", [b"ValueError: the secret is " + fuzz.SECRETS[2].encode()]),))
    assert [failure.what for failure in fuzz.answered(0, asked, found, SECONDS)][:1] == ["secret in text"]

    def broken(*_):
        raise ZeroDivisionError

    monkeypatch.setattr(fuzz, "diagnose_crash", broken)
    assert [failure.what for failure in fuzz.answered(0, asked, found, SECONDS)] == ["ZeroDivisionError"]
