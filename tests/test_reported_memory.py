"""Crashes as people reported them in public: a few lines of each thread, and what a reader of the whole thread knows.

``cases/reported_memory.jsonl`` holds machine text and figures only, each with its source; where a thread is cut,
``completed`` says what is not quoted from it. benchmarks/diagnosis.py reads it.
What is asserted is what decides: the code that comes first, how sure the tool may be, what must be among its first
offers and what must not be offered alone.
"""

import json
from pathlib import Path

import pytest

from oomedic import __version__
from oomedic.arguments.given import EngineArgs, Given
from oomedic.gathering.gather import EngineOptions
from oomedic.pipeline import Library, Log, Question, diagnose_crash
from oomedic.sources.builtin import load

CASES = [json.loads(line) for line in (Path(__file__).parent / "cases/reported_memory.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def library():
    return Library(load(), __version__)


@pytest.fixture(scope="module")
def results(library):
    """Each report once: the result of its life."""
    return {case["id"]: diagnosed(case, library) for case in CASES}


def diagnosed(case, library):
    values = case.get("args", {}) | ({"model": case["model"]} if "model" in case else {})
    given = EngineArgs({name: Given(value, "command line", name) for name, value in values.items()})
    log = Log("log", ["\n".join(case["log_excerpt"]).encode()])
    options = EngineOptions(gpu=case.get("gpu"), vllm=case.get("vllm_version"))
    return diagnose_crash(Question((log,), (), given, options), library).results[0]


def offers(result):
    plan = result.plan
    return [plan.best, *plan.alternatives] if plan and plan.best else []


def each(key):
    return pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in CASES if key in case])


@each("expected_codes")
def test_the_first_finding_is_what_the_thread_turned_out_to_be(case, results):
    (finding, *_) = results[case["id"]].diagnosis.findings
    assert finding.code in case["expected_codes"]
    assert finding.confidence in case["confidence"]


@each("fix_remedies")
def test_what_helped_is_among_the_first_offers(case, results):
    first = {offer.remedy for offer in offers(results[case["id"]])[:3]}
    assert first & set(case["fix_remedies"])


@each("not_helping")
def test_what_cannot_help_is_not_offered(case, results):
    own = {offer.remedy for offer in offers(results[case["id"]])}
    assert not own & set(case["not_helping"])


def test_a_refusal_that_our_arithmetic_does_not_expect_asks_for_room_for_one_request(results):
    """Where the engine says that nothing is left, a share that leaves what one request needs is the least."""
    best = results["gh-vllm-17431"].plan.best
    (share,) = (change.after for change in best.changes if change.target == "gpu_memory_utilization")
    one_request = 40960 * 36 * 2 * 8 * 128 * 2  # tokens x layers x keys and values x KV heads x head size x bf16
    assert share - 0.4 > one_request / (79.25 * 2**30)


def test_a_check_at_the_start_leaves_room_for_what_comes_after_the_cache(results):
    """67.24 of 79.25 GiB are free, a share of 0.84: graphs and the sampler's warm-up need a part of that as well."""
    best = results["gh-kvcached-110"].plan.best
    (share,) = (change.after for change in best.changes if change.target == "gpu_memory_utilization")
    assert 0.7 < share < 67.24 / 79.25 - 0.01


def test_a_card_of_amd_is_not_taken_for_one_of_nvidia(library):
    """https://github.com/gpustack/gpustack/issues/4963: 31.86 GiB are also what a slice of a B300 shows."""
    line = "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 192.00 GiB. GPU 0 has a total capacity of "
    assert diagnosed({"log_excerpt": [line + "31.86 GiB"]}, library).subject.gpu is None


def test_workers_names_tell_over_how_many_gpus_a_model_is_spread(library):
    """No argument is known: the highest of the ranks that printed something is the fourth."""
    loaded = "INFO 04-09 20:31:10 [gpu_model_runner.py:5] Model loading took 36.5 GiB and 9.5 seconds"
    lines = [f"(Worker_TP{rank} pid={99 + rank}) {loaded}" for rank in range(4)]
    assert diagnosed({"log_excerpt": lines}, library).arguments["tensor_parallel_size"].value == 4


def test_a_single_worker_tells_that_there_are_others_and_not_how_many(library):
    """https://github.com/vllm-project/vllm-ascend/issues/6611: the card is not blamed with the weights of all ranks."""
    case = next(each for each in CASES if each["id"] == "gh-vllm-ascend-6611")
    (finding, *_) = diagnosed(case, library).diagnosis.findings
    assert "evidence.ranks-unknown" in [said.message for said in finding.because]


def test_ranks_of_the_engine_itself_are_not_taken_for_neighbours(library):
    """https://github.com/vllm-project/vllm/issues/8731: three of four ranks left a context on the first one's card."""
    ranks = "".join(f"Process {pid} has 1.62 GiB memory in use. " for pid in (3179876, 3179877, 3179875))
    line = (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 72.00 MiB. GPU 0 has a total capacity of "
        f"39.56 GiB of which 60.81 MiB is free. {ranks}Including non-PyTorch memory, this process has 34.61 GiB "
        "memory in use."
    )
    of_four = diagnosed({"args": {"tensor_parallel_size": 4}, "log_excerpt": [line]}, library).diagnosis
    assert "OOM101" not in [finding.code for finding in of_four.findings]
    of_one = diagnosed({"log_excerpt": [line]}, library).diagnosis
    assert [finding.code for finding in of_one.findings] == ["OOM101"]


def test_what_the_card_held_before_is_told_where_the_release_counts_it(results):
    (finding, *_) = results["gh-vllm-10533"].diagnosis.findings
    assert "OOM402.in-use-before" in [said.message for said in finding.because]
