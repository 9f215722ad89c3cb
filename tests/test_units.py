import doctest

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oomedic import units
from oomedic.errors import UsageError
from oomedic.units import GIB, KIB, MIB, gib, parse_count, parse_quantity, parse_size

BINARY = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
DECIMAL = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def test_the_examples_of_the_module_hold():
    assert doctest.testmod(units).failed == 0


@given(st.integers(0, 10_000), st.sampled_from(sorted(BINARY | DECIMAL)), st.sampled_from(["", " ", "  "]))
def test_a_size_is_a_number_times_its_unit(number, unit, space):
    assert parse_size(f"{number}{space}{unit}") == number * (BINARY | DECIMAL)[unit]


@given(st.integers(0, 10**15))
def test_a_size_without_a_unit_is_bytes(number):
    assert parse_size(str(number)) == parse_size(f"{number} bytes") == number


@given(st.integers(1, 10_000), st.sampled_from(["GB", "GiB", "MB", "MiB"]))
def test_the_case_of_a_unit_does_not_matter(number, unit):
    assert (
        parse_size(f"{number}{unit}") == parse_size(f"{number}{unit.lower()}") == parse_size(f"{number}{unit.upper()}")
    )


@given(st.integers(1, 10_000))
def test_a_gigabyte_is_less_than_a_gibibyte(number):
    assert parse_size(f"{number}GB") < parse_size(f"{number}GiB")


@pytest.mark.parametrize(
    "text", ["", "GiB", "lots", "1..2GiB", "5 G iB", "1e3GiB", "9GBs", "0x10", "٣GiB\x00", "nan", "inf"]
)
def test_what_is_no_size_is_refused_with_the_text(text):
    with pytest.raises(UsageError) as refused:
        parse_size(text)
    assert (refused.value.slug, refused.value.parameters) == ("size-unreadable", {"text": text})


@given(st.integers(0, 10_000))
def test_quantities_of_kubernetes_tell_binary_from_decimal(number):
    assert parse_quantity(f"{number}Gi") == number * 2**30
    assert parse_quantity(f"{number}G") == number * 10**9
    assert parse_quantity(f"{number}k") == number * 1000
    assert parse_quantity(str(number)) == parse_quantity(number) == number


@pytest.mark.parametrize(
    ("quantity", "size"),
    [
        ("1.5Gi", 3 * 2**29),
        ("128974848", 128974848),
        ("129e6", 129_000_000),
        ("129M", 129_000_000),
        ("123Mi", 123 * MIB),
    ],
)
def test_a_quantity_as_the_kubernetes_documentation_shows_it(quantity, size):
    assert parse_quantity(quantity) == size


def test_a_thousandth_of_a_byte_rounds_to_whole_bytes():
    assert parse_quantity("128974848000m") == 128974848


@pytest.mark.parametrize("text", ["", "Gi", "1 Gi", "1GB", "1GiB", "-1Gi", "1ki", "one"])
def test_what_is_no_quantity_is_refused(text):
    with pytest.raises(UsageError) as refused:
        parse_quantity(text)
    assert refused.value.slug == "quantity-unreadable"


@given(st.integers(0, 10**6))
def test_a_small_letter_counts_in_thousands_and_a_capital_in_1024s(number):
    assert parse_count(f"{number}k") == number * 1000
    assert parse_count(f"{number}K") == number * 1024
    assert parse_count(str(number)) == number


@pytest.mark.parametrize("text", ["25.6K", "1.5", "k", "", "8kb", "1e3"])
def test_what_vllm_does_not_read_as_a_count_is_refused(text):
    with pytest.raises(UsageError) as refused:
        parse_count(text)
    assert refused.value.slug == "count-unreadable"


@given(st.integers(-(2**50), 2**50))
def test_written_sizes_can_be_read_again_to_half_of_their_last_digit(size):
    assume(size != 0)
    written = gib(size)
    unit = BINARY[written.split()[1]]
    assert abs(parse_size(written) - size) <= unit // 200 + 1


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0.00 GiB"),
        (GIB, "1.00 GiB"),
        (-GIB // 2, "-0.50 GiB"),
        (512 * MIB, "0.50 GiB"),
        (2 * MIB, "2.00 MiB"),
        (KIB, "1.00 KiB"),
    ],
)
def test_small_sizes_get_a_unit_in_which_they_can_be_seen(size, text):
    assert gib(size) == text
