import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oomedic import figure
from oomedic.figure import Figure, between, exactly, printed, printed_gib
from oomedic.units import GIB, MIB

ORIGINS = st.sampled_from(["printed", "catalogued", "computed", "assumed"])
SIZES = st.integers(-(2**45), 2**45)


@st.composite
def figures(draw):
    low, value, high = sorted(draw(st.lists(SIZES, min_size=3, max_size=3)))
    return Figure(value, low, high, draw(ORIGINS), draw(st.sampled_from(["log:1", "gpus.toml:A10G"])))


def test_the_examples_of_the_module_hold():
    assert doctest.testmod(figure).failed == 0


@given(figures(), figures())
def test_a_sum_lies_in_its_band_and_bands_add_up(one, other):
    total = one.plus(other)
    assert total.value == one.value + other.value
    assert total.low <= total.value <= total.high
    assert total.high - total.low == (one.high - one.low) + (other.high - other.low)


@given(figures(), figures())
def test_a_difference_is_as_unsure_as_both_together(one, other):
    rest = one.minus(other)
    assert rest.value == one.value - other.value
    assert rest.low <= rest.value <= rest.high
    assert rest.high - rest.low == (one.high - one.low) + (other.high - other.low)


@given(figures(), figures())
def test_what_is_added_and_taken_away_again_gives_the_same_value(one, other):
    assert one.plus(other).minus(other).value == one.value


@given(figures(), figures())
def test_a_figure_made_of_two_is_no_better_known_than_its_weaker_part(one, other):
    origins = {one.origin, other.origin}
    made = one.plus(other).origin
    assert made == one.minus(other).origin == other.plus(one).origin
    if len(origins) == 1:
        assert made == one.origin
    else:
        assert made == ("assumed" if "assumed" in origins else "computed")


@given(SIZES, SIZES, SIZES)
def test_a_band_always_holds_its_value(low, value, high):
    made = between(low, value, high, "computed", "here")
    assert made.low <= made.value <= made.high


def test_an_exact_figure_has_no_band():
    assert exactly(5, "assumed", "--weights") == Figure(5, 5, 5, "assumed", "--weights")


@pytest.mark.parametrize(
    ("text", "value", "width"),
    [("2", 2 * GIB, GIB), ("2.1", round(2.1 * GIB), GIB / 10), ("2.17", round(2.17 * GIB), GIB / 100)],
)
def test_a_printed_number_is_sure_to_half_of_its_last_digit(text, value, width):
    found = printed_gib(text, "log:7")
    assert (found.value, found.origin, found.where) == (value, "printed", "log:7")
    assert found.high - found.low == pytest.approx(width, abs=2)


@given(st.decimals(0, 1000, places=2))
def test_the_number_that_was_rounded_lies_in_the_band(number):
    found = printed_gib(f"{number:.1f}", "log:1")
    assert found.low - 1 <= float(number) * GIB <= found.high + 1


def test_a_whole_number_of_bytes_is_exact_and_one_of_mib_is_not():
    assert printed("345", 1, "log:1") == Figure(345, 345, 345, "printed", "log:1")
    assert printed("345", MIB, "log:1").high - printed("345", MIB, "log:1").low == MIB
