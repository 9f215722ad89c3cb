import pytest
from hypothesis import given
from hypothesis import strategies as st

from oomedic.kube.json_patch import applied, operations

LEAVES = st.none() | st.booleans() | st.integers(-3, 3) | st.text("a/~é", max_size=3)
TREES = st.recursive(
    LEAVES,
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text("ab/~", max_size=2), inside, max_size=3),
)


@given(TREES, TREES)
def test_the_operations_turn_one_version_into_the_other_and_back(before, after):
    assert applied(before, operations(before, after)) == after
    assert applied(after, operations(after, before)) == before


@given(TREES)
def test_equal_versions_need_no_operation(tree):
    assert operations(tree, tree) == ()


def test_each_change_tests_the_old_value_first():
    before = {"args": ["--a=1", "--b=2"], "x": 1}
    assert operations(before, {"args": ["--a=1", "--b=3"], "x": 1}) == (
        {"op": "test", "path": "/args/1", "value": "--b=2"},
        {"op": "replace", "path": "/args/1", "value": "--b=3"},
    )


def test_a_list_that_grows_is_replaced_whole_behind_a_test_of_the_whole():
    assert operations({"args": ["a"]}, {"args": ["a", "b"]}) == (
        {"op": "test", "path": "/args", "value": ["a"]},
        {"op": "replace", "path": "/args", "value": ["a", "b"]},
    )


def test_keys_are_escaped_as_pointers_want_it():
    assert operations({}, {"a/b~c": 1}) == ({"op": "add", "path": "/a~1b~0c", "value": 1},)


def test_an_edit_in_between_makes_the_whole_request_fail():
    change = operations({"args": ["--b=2"]}, {"args": ["--b=3"]})
    with pytest.raises(ValueError, match="another value at /args/0"):
        applied({"args": ["--b=4"]}, change)


def test_what_is_gone_cannot_be_changed():
    with pytest.raises(ValueError, match="nothing at /x"):
        applied({}, [{"op": "remove", "path": "/x"}])
