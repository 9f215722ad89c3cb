"""Parts inside the request and the rest make it up; what lies outside is held against the whole card."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oomedic.arguments.given import EngineArgs, Given
from oomedic.engine.config import EngineConfig, ModelFacts, configure
from oomedic.engine.rules import releases, rules_at
from oomedic.figure import Figure, between, exactly
from oomedic.memory.budget import Device, available_memory, budget_of, is_inside, requested_memory
from oomedic.sources.builtin import load
from oomedic.units import GIB
from oomedic.version import parse_version

ROWS = load().engines()
PARTS = ("weights", "non_torch", "activation", "cuda_graphs")


def config(version="0.10.2", environment=None, **given) -> EngineConfig:
    args = EngineArgs({name: Given(value, "command line") for name, value in given.items()}, environment or {})
    return configure(args, ModelFacts(max_model_len=8192), None, rules_at(parse_version(version), ROWS))


def size(gib, where="test") -> Figure:
    return exactly(round(gib * GIB), "computed", where)


def device(total=24.0, held=None) -> Device:
    return Device(size(total), size(total - 0.5), held)


def parts(weights=10.0, non_torch=0.5, activation=1.5, cuda_graphs=1.0):
    return {
        "weights": size(weights),
        "non_torch": size(non_torch),
        "activation": size(activation),
        "cuda_graphs": size(cuda_graphs),
    }


def inside_sum(budget):
    return sum(item.figure.value for item in budget.items if item.inside and item.figure is not None)


def test_the_request_is_the_total_times_the_utilization():
    assert requested_memory(exactly(24_000_000_000, "assumed", "--gpu-memory"), config()).value == 21_600_000_000
    assert (
        requested_memory(exactly(24_000_000_000, "assumed", "--gpu-memory"), config("0.20.2")).value == 22_080_000_000
    )
    given_share = requested_memory(size(20), config(gpu_memory_utilization=0.5))
    assert (given_share.value, given_share.where) == (10 * GIB, "test x command line")


def test_without_a_total_there_is_no_request():
    assert requested_memory(None, config()) is None
    assert available_memory(None, parts(), config()) is None


def test_the_cache_gets_what_the_parts_inside_leave():
    # 24 x 0.9 - 10 - 0.5 - 1.5 = 9.6 GiB; the graphs of 0.10 lie outside
    budget = budget_of(device(), parts(), config(), needed=2 * GIB)
    assert budget.item("kv_cache").value == pytest.approx(9.6 * GIB, abs=2)
    assert budget.left.value == 0


def test_graphs_are_paid_out_of_the_request_since_0_20():
    # 24 x 0.92 - 10 - 0.5 - 1.5 - 1.0 = 9.08 GiB
    budget = budget_of(device(), parts(), config("0.20.2"), needed=2 * GIB)
    assert budget.item("kv_cache").value == pytest.approx(9.08 * GIB, abs=2)


@pytest.mark.parametrize(
    ("version", "inside"), [("0.7.3", False), ("0.10.2", False), ("0.19.0", False), ("0.20.0", True)]
)
def test_only_graphs_can_lie_outside(version, inside):
    found = config(version)
    assert is_inside("cuda_graphs", found) == inside
    assert all(is_inside(name, found) for name in ("weights", "non_torch", "activation", "kv_cache"))


def test_a_request_that_does_not_fit_stands_with_all_that_it_needs():
    # 9.6 GiB are there, 12 are needed: 2.4 are missing
    budget = budget_of(device(), parts(), config(), needed=12 * GIB)
    assert budget.item("kv_cache").value == 12 * GIB
    assert budget.left.value == pytest.approx(-2.4 * GIB, abs=2)
    assert budget.available.value == pytest.approx(9.6 * GIB, abs=2)


def test_where_nothing_is_left_for_the_cache_the_shortfall_is_what_the_parts_take_too_much():
    budget = budget_of(device(), parts(weights=22), config(), needed=None)
    assert budget.item("kv_cache").value == 0
    assert budget.left.value == pytest.approx((24 * 0.9 - 22 - 2) * GIB, abs=2)


def test_weights_alone_show_what_is_left_before_the_rest():
    # the runbook: 24 GB x 0.9 - 9 GB
    only = dict.fromkeys(PARTS) | {"weights": exactly(9_000_000_000, "assumed", "--weights")}
    total = exactly(24_000_000_000, "assumed", "--gpu-memory")
    budget = budget_of(Device(total, None, None), only, config(), needed=None)
    assert (budget.requested.value, budget.left.value) == (21_600_000_000, 12_600_000_000)
    assert budget.item("kv_cache") is None


def test_without_weights_nothing_is_known_of_the_rest():
    budget = budget_of(device(), parts() | {"weights": None}, config(), needed=GIB)
    assert budget.left is None
    assert budget.item("kv_cache") is None


def test_a_printed_pool_tells_what_a_request_lacks_though_the_parts_are_unknown():
    printed = Figure(2 * GIB, 2 * GIB, 2 * GIB, "printed", "log:4")
    budget = budget_of(device(), dict.fromkeys(PARTS) | {"kv_cache": printed}, config(), needed=3 * GIB)
    assert budget.left.value == -GIB
    budget = budget_of(device(), dict.fromkeys(PARTS) | {"kv_cache": printed}, config(), needed=GIB)
    assert budget.item("kv_cache") == printed
    assert budget.left.value == 0


def test_a_pool_of_a_given_size_leaves_the_rest_of_the_request():
    found = config(kv_cache_memory_bytes=2 * GIB)
    budget = budget_of(device(), {**parts(), "kv_cache": size(2)}, found, needed=GIB)
    assert budget.item("kv_cache").value == 2 * GIB
    assert budget.left.value == budget.requested.value - inside_sum(budget)


@pytest.mark.parametrize(
    ("version", "environment", "counted"),
    [
        ("0.6.2", None, False),
        ("0.6.4", None, True),
        ("0.7.3", None, False),
        ("0.9.0", None, True),
        ("0.9.0", {"VLLM_USE_V1": "0"}, False),
        ("0.9.1", None, False),
    ],
)
def test_what_others_hold_shrinks_the_cache_only_where_the_release_cannot_tell_it_apart(version, environment, counted):
    found = config(version, environment)
    alone = budget_of(device(), parts(), found, needed=GIB)
    beside = budget_of(device(held=size(3)), parts(), found, needed=GIB)
    assert alone.available.value - beside.available.value == (3 * GIB if counted else 0)
    assert beside.own_non_torch.value == parts()["non_torch"].value


SIZES = st.integers(0, 200 * GIB)


@st.composite
def bands(draw):
    low, value, high = sorted(draw(st.lists(SIZES, min_size=3, max_size=3)))
    return between(low, value, high, "computed", "test")


RELEASES = st.sampled_from(releases(ROWS))
MAYBE = st.one_of(st.none(), bands())


@given(RELEASES, bands(), st.fixed_dictionaries(dict.fromkeys(PARTS, bands())), st.one_of(st.none(), SIZES))
def test_parts_inside_and_the_rest_make_up_the_request(release, total, each, needed):
    found = config(str(release))
    budget = budget_of(Device(total, total, None), each, found, needed)
    assert inside_sum(budget) + budget.left.value == budget.requested.value


@given(RELEASES, bands(), st.fixed_dictionaries(dict.fromkeys(PARTS, bands())), SIZES)
def test_the_rest_is_negative_exactly_when_a_request_does_not_fit(release, total, each, needed):
    found = config(str(release))
    budget = budget_of(Device(total, total, None), each, found, needed)
    assert (budget.left.value < 0) == (budget.available.value < needed)


@given(RELEASES, MAYBE, st.fixed_dictionaries(dict.fromkeys(PARTS, MAYBE)), st.one_of(st.none(), SIZES))
def test_every_figure_lies_in_its_band_and_what_is_unknown_stays_unknown(release, total, each, needed):
    budget = budget_of(Device(total, total, None), each, config(str(release)), needed)
    figures = [budget.total, budget.requested, budget.left, budget.available, *(item.figure for item in budget.items)]
    for figure in filter(None, figures):
        assert figure.low <= figure.value <= figure.high
    for name in PARTS:
        assert budget.item(name) == each[name]
    assert (budget.requested is None) == (total is None)


@given(RELEASES, bands(), st.fixed_dictionaries(dict.fromkeys(PARTS, bands())))
def test_graphs_outside_the_request_never_change_the_cache(release, total, each):
    found = config(str(release))
    without = {**each, "cuda_graphs": exactly(0, "computed", "enforce_eager")}
    one, other = (budget_of(Device(total, total, None), some, found, None) for some in (each, without))
    gained = other.available.value - one.available.value
    assert gained == (each["cuda_graphs"].value if found.graphs_budgeted else 0)


def test_items_come_in_the_order_of_a_start():
    budget = budget_of(device(), parts(), config(), needed=None)
    assert [item.name for item in budget.items] == ["weights", "non_torch", "activation", "cuda_graphs", "kv_cache"]
