import pytest
from hypothesis import given
from hypothesis import strategies as st

from oomedic.engine.rules import eras, releases, rules_at
from oomedic.sources.builtin import load
from oomedic.version import Version

ROWS = load().engines()
RELEASES = releases(ROWS)


def at(version):
    return rules_at(Version(*map(int, version.split("."))), ROWS)


def test_releases_come_oldest_first_and_each_once():
    assert list(RELEASES) == sorted(set(RELEASES))
    assert RELEASES[0] <= Version(0, 4, 0)
    assert RELEASES[-1] >= Version(0, 33, 0)


@given(st.sampled_from(RELEASES), st.integers(0, 5))
def test_a_release_between_two_files_has_the_rules_of_the_nearest_older_one(release, later):
    between = release._replace(patch=release.patch + later)
    newer = [other for other in RELEASES if release < other <= between]
    expected = newer[-1] if newer else release
    assert rules_at(between, ROWS).changed == expected
    assert rules_at(between, ROWS).defaults == rules_at(expected, ROWS).defaults


def test_a_release_newer_than_all_gets_the_newest_rules():
    assert at("99.0.0").changed == RELEASES[-1]
    assert at("99.0.0").v1 == rules_at(RELEASES[-1], ROWS).v1


def test_a_release_older_than_all_gets_the_oldest_rules():
    assert at("0.1.0").changed == RELEASES[0]


def test_the_order_of_the_rows_does_not_matter():
    assert rules_at(Version(0, 20, 0), ROWS[::-1]) == rules_at(Version(0, 20, 0), ROWS)


def test_no_rows_are_a_mistake_of_the_program():
    with pytest.raises(ValueError, match="no engine rows"):
        rules_at(Version(0, 20, 0), [])


def test_a_value_names_the_file_that_it_comes_from():
    assert (
        at("0.21.0").where("defaults", "gpu_memory_utilization")
        == "engines/0.20.0.toml:defaults.gpu_memory_utilization"
    )
    assert (
        at("0.19.1").where("defaults", "gpu_memory_utilization") == "engines/0.2.0.toml:defaults.gpu_memory_utilization"
    )


def test_eras_are_releases_with_a_name_of_their_own():
    found = eras(ROWS)
    assert {release for release, _ in found} <= set(RELEASES)
    assert len({name for _, name in found}) == len(found)


# What vLLM's own sources say: cache.py (gpu_memory_utilization), gpu_worker.py and worker/utils.py (the check before
# loading), gpu_model_runner.py (graphs that are subtracted), kv_cache_utils.py (the line with the tokens).
@pytest.mark.parametrize(
    ("version", "utilization", "checks_free_memory", "graphs_counted", "tokens_line"),
    [
        ("0.8.5", 0.9, False, False, "blocks"),
        ("0.9.0", 0.9, False, False, "blocks"),
        ("0.9.2", 0.9, True, False, "groups"),
        ("0.10.2", 0.9, True, False, "groups"),
        ("0.11.2", 0.9, True, False, "groups"),
        ("0.14.1", 0.9, True, False, "groups"),
        ("0.18.1", 0.9, True, False, "groups"),
        ("0.20.2", 0.92, True, True, "groups"),
        ("0.23.0", 0.92, True, True, "concurrency"),
        ("0.26.0", 0.92, True, True, "concurrency"),
        ("0.28.0", 0.92, True, True, "concurrency"),
        ("0.30.0", 0.92, True, True, "concurrency"),
        ("0.32.0", 0.92, True, True, "concurrency"),
    ],
)
def test_the_rules_of_v1_are_those_of_its_sources(
    version, utilization, checks_free_memory, graphs_counted, tokens_line
):
    rules = at(version)
    assert rules.defaults["gpu_memory_utilization"] == utilization
    assert bool(rules.v1["free_memory_check"]) == checks_free_memory
    assert rules.graphs["budgeted"] == graphs_counted
    assert rules.cache["tokens_line"] == tokens_line


@pytest.mark.parametrize("version", ["0.2.0", "0.6.3", "0.7.3", "0.8.5", "0.9.2", "0.10.2"])
def test_v0_never_checked_the_free_memory_before_loading(version):
    assert not at(version).v0["free_memory_check"]


@pytest.mark.parametrize(
    ("version", "counted"), [("0.6.2", False), ("0.6.3", True), ("0.6.4", True), ("0.6.5", False), ("0.10.2", False)]
)
def test_v0_counted_other_processes_in_two_releases_only(version, counted):
    assert at(version).v0["others_counted"] == counted


@pytest.mark.parametrize(
    ("version", "counted"), [("0.8.5", True), ("0.9.0", True), ("0.9.1", False), ("0.27.0", False)]
)
def test_v1_counted_other_processes_until_0_9_0(version, counted):
    assert at(version).v1["others_counted"] == counted


def test_model_runner_v2_left_its_graphs_outside_the_request_until_0_30():
    assert not at("0.28.0").runner_v2["budgeted"]
    assert at("0.30.0").runner_v2["budgeted"]


def test_tables_of_a_platform_outrank_those_of_every_release():
    gpu, cpu = at("0.32.0"), rules_at(Version(0, 32, 0), ROWS, "cpu")
    assert (gpu.defaults["block_size"], cpu.defaults["block_size"]) == (16, 128)
    assert cpu.cache["tokens_line"] == gpu.cache["tokens_line"]
    assert rules_at(Version(0, 10, 2), ROWS, "cpu").defaults["block_size"] == 16


def test_a_platform_without_tables_of_its_own_has_the_rules_of_all():
    assert rules_at(Version(0, 32, 0), ROWS, "tpu") == at("0.32.0")
