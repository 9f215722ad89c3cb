import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oomedic import version
from oomedic.version import Version, parse_version

NUMBERS = st.integers(0, 99)


def test_the_examples_of_the_module_hold():
    assert doctest.testmod(version).failed == 0


@given(NUMBERS, NUMBERS, NUMBERS)
def test_a_version_is_read_as_it_is_written(major, minor, patch):
    made = Version(major, minor, patch)
    assert parse_version(str(made)) == parse_version(f"v{made}") == parse_version(f" {made}\n") == made


@given(st.tuples(NUMBERS, NUMBERS, NUMBERS), st.tuples(NUMBERS, NUMBERS, NUMBERS))
def test_versions_are_ordered_by_number_and_not_as_text(one, other):
    assert (Version(*one) < Version(*other)) == (one < other)
    assert Version(0, 9, 2) < Version(0, 10, 0)


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("0.10", (0, 10, 0)),
        ("0.10.1.1", (0, 10, 1)),
        ("0.8.5.post1", (0, 8, 5)),
        ("0.9.0rc2", (0, 9, 0)),
        ("v0.11.0-x86_64", (0, 11, 0)),
        ("0.11.0+cu128", (0, 11, 0)),
        ("0.14.0rc1.dev417", (0, 14, 0)),  # main on the way to 0.14.0
        ("0.19.2rc1.dev205+g4b7f5ea1a", (0, 20, 0)),  # main after 0.19 was cut
        ("0.8.5.dev600+g7eb4255", (0, 8, 5)),  # until 0.11 patch releases came from main too
    ],
)
def test_builds_between_releases_belong_to_the_era_that_they_led_to(text, release):
    assert parse_version(text) == Version(*release)


@pytest.mark.parametrize(
    "text", ["latest", "", "nightly", "main", "0", "sha256:abc", "0.1.dev1+gabc", "banana", "x0.10.2"]
)
def test_what_names_no_release_says_nothing(text):
    assert parse_version(text) is None


@given(st.text(max_size=40))
def test_any_text_is_a_version_or_nothing(text):
    found = parse_version(text)
    assert found is None or parse_version(str(found)) == found
