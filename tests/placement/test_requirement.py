"""Requirements and taints, compared as Kubernetes does it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oomedic.kube.requirement import Requirement, exactly, overlap
from oomedic.kube.taint import Taint, untolerated


@pytest.mark.parametrize(
    ("operator", "values", "label", "allowed"),
    [
        ("In", ("a", "b"), "a", True),
        ("In", ("a", "b"), "c", False),
        ("In", ("a",), None, False),
        ("NotIn", ("a",), "b", True),
        ("NotIn", ("a",), None, True),
        ("Exists", (), "x", True),
        ("Exists", (), None, False),
        ("DoesNotExist", (), None, True),
        ("DoesNotExist", (), "x", False),
        ("Gt", ("40000",), "45776", True),
        ("Gt", ("45776",), "45776", False),
        ("Lt", ("5",), "4", True),
        ("Gte", ("4",), "4", True),
        ("Lte", ("4",), "5", False),
        ("Gt", ("4",), "many", False),
        ("Gt", ("4",), None, False),
        ("Near", ("4",), "4", False),
    ],
)
def test_operators_decide_as_kubernetes_does(operator, values, label, allowed):
    assert Requirement("k", operator, values).allows(label) is allowed


def test_a_node_selector_stands_for_one_value_each():
    assert exactly({"a": "1", "b": "2"}) == (Requirement("a", "In", ("1",)), Requirement("b", "In", ("2",)))


@pytest.mark.parametrize(
    ("requirements", "possible"),
    [
        ([("In", ("a", "b")), ("In", ("b", "c"))], True),
        ([("In", ("a",)), ("In", ("b",))], False),
        ([("In", ("a", "b")), ("NotIn", ("a", "b"))], False),
        ([("Exists", ()), ("NotIn", ("a",))], True),
        ([("DoesNotExist", ()), ("Exists", ())], False),
        ([("In", ("spot",)), ("DoesNotExist", ())], False),
        ([("In", ("1", "8")), ("Gt", ("4",))], True),
    ],
)
def test_requirements_of_one_label_overlap_or_not(requirements, possible):
    assert overlap([Requirement("k", *each) for each in requirements]) is possible


OPERATORS = st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"])
REQUIREMENTS = st.lists(
    st.builds(
        lambda operator, values: Requirement("k", operator, tuple(values[:1] if operator in {"Gt", "Lt"} else values)),
        OPERATORS,
        st.lists(st.sampled_from(["1", "2", "4", "8"]), min_size=1, max_size=3),
    ),
    min_size=1,
    max_size=3,
)


@given(REQUIREMENTS, st.sampled_from(["1", "2", "4", "8"]))
def test_a_value_that_all_allow_is_an_overlap(requirements, value):
    if all(each.allows(value) for each in requirements):
        assert overlap(requirements)


GPU = Taint("nvidia.com/gpu", "true", "NoSchedule")


@pytest.mark.parametrize(
    "toleration",
    [
        {"key": "nvidia.com/gpu", "operator": "Exists"},
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "nvidia.com/gpu", "operator": "Equal", "value": "true", "effect": "NoSchedule"},
        {"key": "nvidia.com/gpu", "value": "true"},
        {"operator": "Exists"},
    ],
)
def test_a_toleration_that_matches_lets_the_pod_in(toleration):
    assert untolerated([GPU], [toleration]) is None


@pytest.mark.parametrize(
    "toleration",
    [
        {"key": "nvidia.com/gpu", "operator": "Equal", "value": "present"},
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoExecute"},
        {"key": "nvidia.com/gpus", "operator": "Exists"},
        {"key": "nvidia.com/gpu"},
    ],
)
def test_a_toleration_that_does_not_match_keeps_it_out(toleration):
    assert untolerated([GPU], [toleration]) == GPU


def test_a_preference_keeps_nobody_out():
    assert untolerated([Taint("a", "", "PreferNoSchedule")], []) is None


def test_a_taint_is_written_as_kubectl_writes_it():
    assert (str(GPU), str(Taint("a", "", "NoExecute"))) == ("nvidia.com/gpu=true:NoSchedule", "a:NoExecute")
