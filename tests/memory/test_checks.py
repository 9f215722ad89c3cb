"""The steps of a start: which come, what room each leaves, which fails first and how sure that is."""

import pytest

from oomedic.arguments.given import EngineArgs, Given
from oomedic.engine.config import ModelFacts, configure
from oomedic.engine.rules import rules_at
from oomedic.figure import between, exactly
from oomedic.memory.budget import Device, budget_of
from oomedic.memory.checks import certainty, checks_of, first_failure, settled, tightest
from oomedic.memory.demand import Demand
from oomedic.memory.known import Check, Known
from oomedic.memory.kv_plan import KvPlan
from oomedic.memory.weights import Stage
from oomedic.sources.builtin import load
from oomedic.units import GIB
from oomedic.version import parse_version

ROWS = load().engines()


def size(gib):
    return exactly(round(gib * GIB), "computed", "test")


def steps(version="0.10.2", total=24.0, free=23.5, needed=2.0, kv=None, **changed):
    """The steps of an engine with 10 GiB of weights, 0.5 beside torch, a peak of 1.5 and graphs of 1 GiB."""
    given = changed.pop("given", {})
    args = EngineArgs({name: Given(value, "command line") for name, value in given.items()})
    config = configure(args, ModelFacts(max_model_len=8192), None, rules_at(parse_version(version), ROWS))
    parts = {"weights": 10, "non_torch": 0.5, "activation": 1.5, "cuda_graphs": 1.0} | changed
    figures = {name: None if gib is None else size(gib) for name, gib in parts.items()}
    device = Device(None if total is None else size(total), None if free is None else size(free), None)
    need = None if needed is None else round(needed * GIB)
    budget = budget_of(device, figures, config, need)
    stage = Stage(0, 1, is_first=True, is_last=True)
    own = (figures[name] for name in ("weights", "non_torch", "activation", "cuda_graphs"))
    demand = Demand(stage, *own, size(0.25), size(1.5), None)
    return checks_of(budget, demand, config, need, kv)


def margins(checks):
    return {(check.phase, check.what): round(check.margin.value / GIB, 3) for check in checks}


def test_every_step_of_v1_with_its_room():
    assert margins(steps()) == {
        ("free_memory_check", "requested"): 1.9,  # 23.5 free - 24 x 0.9
        ("weights_load", "weights"): 13.5,  # 23.5 - 10
        ("profile_run", "activation"): 11.5,  # - 1.5 - 0.5
        ("kv_check", "available"): 9.6,  # 21.6 - 10 - 0.5 - 1.5
        ("kv_check", "one request"): 7.6,  # - 2
        ("kv_alloc", "kv_cache"): 3.4,  # 23.5 - 10 - 9.6 - 0.5
        ("graph_capture", "cuda_graphs"): 2.15,  # - 0.25 of workspaces - 1
        ("sampler_warmup", "sampler"): 0.65,  # - 1.5
    }


def test_the_steps_come_in_the_engines_order():
    phases = [check.phase for check in steps()]
    order = [
        "free_memory_check",
        "weights_load",
        "profile_run",
        "kv_check",
        "kv_alloc",
        "graph_capture",
        "sampler_warmup",
    ]
    assert list(dict.fromkeys(phases)) == order


@pytest.mark.parametrize(
    ("version", "checked"), [("0.7.3", False), ("0.9.0", False), ("0.9.1", True), ("0.30.0", True)]
)
def test_free_memory_is_checked_since_0_9_1(version, checked):
    assert ("free_memory_check" in {check.phase for check in steps(version)}) == checked


def test_a_share_of_one_can_never_pass_the_check_of_free_memory():
    failed = first_failure(steps(given={"gpu_memory_utilization": 1.0}))
    assert (failed.phase, round(failed.margin.value / GIB, 3)) == ("free_memory_check", -0.5)


def test_weights_are_held_against_what_is_free_and_not_against_the_request():
    # 22 GiB are more than 24 x 0.9 = 21.6, but they can be loaded: the engine dies later, without room for its cache
    assert first_failure(steps(weights=22, activation=0.5)).phase == "kv_check"
    assert first_failure(steps(weights=23.6)).phase == "weights_load"


def test_the_profile_run_is_held_against_the_card_too():
    assert first_failure(steps(activation=13.1)).phase == "profile_run"
    assert first_failure(steps(activation=12.9)).phase == "kv_check"


def test_graphs_outside_the_request_fail_where_the_share_leaves_too_little():
    crowded = {"given": {"gpu_memory_utilization": 0.97}, "activation": 0.2}
    # after the pool 24 - 24 x 0.97 + 0.2 - 0.5 = 0.42 GiB are free; workspaces and graphs need 1.25
    failed = first_failure(steps("0.10.2", **crowded))
    assert (failed.phase, round(failed.margin.value / GIB, 2)) == ("graph_capture", -0.83)
    # counted inside the request, they leave a smaller pool instead
    assert round(margins(steps("0.20.2", **crowded))["graph_capture", "cuda_graphs"], 2) == 0.17


def test_eager_mode_captures_nothing():
    assert "graph_capture" not in {check.phase for check in steps(cuda_graphs=0)}


def test_a_pool_that_is_asked_for_can_be_larger_than_the_card():
    pool = {"given": {"kv_cache_memory_bytes": 14 * GIB}}
    checks = margins(steps(**pool))
    assert checks["kv_check", "available"] > 0
    found = steps(kv_cache=14, **pool)
    assert first_failure(found).phase == "kv_alloc"


def test_the_plan_may_refuse_what_the_bytes_would_allow():
    refused = KvPlan(9, 1, 16, 16, 0.5, 2 * GIB, 100, fits=False)
    assert margins(steps(kv=refused))["kv_check", "one request"] == 0
    assert first_failure(steps(kv=refused)).what == "one request"


def test_what_is_not_known_is_not_checked():
    assert {check.phase for check in steps(weights=None)} == {"free_memory_check"}
    assert {check.phase for check in steps(activation=None)} == {"free_memory_check", "weights_load"}
    assert steps(total=None, free=None) == ()


def check(value, low=None, high=None, phase="kv_check"):
    return Check(
        phase,
        between(low if low is not None else value, value, high if high is not None else value, "computed", ""),
        "x",
    )


def test_the_first_step_without_room_is_where_it_dies():
    checks = (check(5), check(-1, phase="profile_run"), check(-9))
    assert first_failure(checks).phase == "profile_run"
    assert tightest(checks).margin.value == -9
    assert first_failure(()) is None


def test_a_lack_that_is_small_against_its_own_band_counts_as_passed_until_a_run_has_shown_it():
    close = (check(-5, low=-100, high=90),)
    assert first_failure(close) is None
    assert first_failure(close, died=True) is close[0]
    assert first_failure((check(-20, low=-100, high=60),)) is not None


@pytest.mark.parametrize(
    ("failed", "least", "sure"),
    [
        (check(-5, high=-1), None, "certain"),
        (check(-5, high=3), None, "likely"),
        (None, check(5, low=1), "certain"),
        (None, check(5, low=-3), "likely"),
        (None, check(2, low=-3), "edge"),
        (None, None, "likely"),
    ],
)
def test_a_conclusion_is_as_sure_as_the_band_of_its_step(failed, least, sure):
    assert certainty(failed, least) == sure


def test_steps_that_a_run_passed_have_room_and_the_one_it_died_in_lacks_what_it_lacked():
    before = (check(-2, phase="weights_load"), check(3, phase="profile_run"), check(4, phase="kv_check"))
    known = Known(died="profile_run", missing=7, before=before)
    loaded, profiled, later = settled(before, known)
    assert loaded.margin.value == 0
    assert profiled.margin.value == -7
    assert later.margin.value == 4


def test_what_a_change_gains_is_added_to_what_the_run_lacked():
    before = (check(3, phase="profile_run"),)
    known = Known(died="profile_run", missing=7, before=before)
    (better,) = settled((check(13, phase="profile_run"),), known)
    assert better.margin.value == 10 - 7


def test_where_the_run_does_not_say_how_much_it_lacked_it_lacked_something():
    before = (check(3, phase="profile_run"),)
    (died,) = settled(before, Known(died="profile_run", before=before))
    assert died.margin.value == -1


def test_a_lack_of_memory_says_nothing_of_blocks_for_states():
    states = Check("graph_capture", exactly(5, "computed", ""), "state blocks")
    before = (check(3, phase="graph_capture"), states)
    captured, blocks = settled(before, Known(died="graph_capture", missing=7, before=before))
    assert (captured.margin.value, blocks.margin.value) == (-7, 5)
