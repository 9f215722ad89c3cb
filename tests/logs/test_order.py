import pytest
from hypothesis import given
from hypothesis import strategies as st

from oomedic.logs.order import oldest_first

RISING = [f"2026-10-12T09:00:{second:02d}.5Z line {second}" for second in range(20)]


def ordered(lines, size=10**9):
    text = "\n".join(lines).encode() + b"\n"
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    return b"".join(oldest_first(pieces)).decode().splitlines()


@pytest.mark.parametrize("size", [1, 7, 10**9])
def test_falling_times_are_turned_round(size):
    assert ordered(RISING[::-1], size) == RISING


def test_rising_times_stay():
    assert ordered(RISING) == RISING


def test_times_that_all_are_the_same_stay():
    lines = [f"2026-10-12T09:00:00Z {number}" for number in range(10)]
    assert ordered(lines) == lines


def test_falling_and_rising_times_stay():
    assert ordered([*RISING[:10:-1], *RISING[10:]]) == [*RISING[:10:-1], *RISING[10:]]


def test_a_few_lines_prove_nothing():
    assert ordered(RISING[3::-1]) == RISING[3::-1]


def test_a_time_inside_a_record_counts():
    lines = [f'{{"log":"line","time":"2026-10-12T09:00:{second:02d}Z"}}' for second in range(20)]
    assert ordered(lines[::-1]) == lines


@given(st.lists(st.binary(max_size=40), max_size=20))
def test_nothing_is_lost(pieces):
    assert sorted(b"".join(oldest_first(pieces)).split()) == sorted(b"".join(pieces).split())
