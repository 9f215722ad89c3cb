"""No plan turns a cause the wrong way, and none leaves that our own arithmetic would reject: on every crash we have."""

import importlib
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oomedic import __version__
from oomedic.arguments.given import EngineArgs, Given
from oomedic.gathering.gather import EngineOptions
from oomedic.pipeline import Library, Log, Question, diagnose_crash
from oomedic.planning.plan import Offer
from oomedic.remedy import SAFETIES
from oomedic.sources.builtin import load

CASES = Path(__file__).parents[1] / "cases/crashes.jsonl"
CRASHES = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
CATALOGUE = load()
LIBRARY = Library(CATALOGUE, __version__)
GIB = 2**30

# What raises and what lowers: a lack of memory for the cache wants a larger share; after the pool is allocated a larger
# share is what causes it; before it, the share is not applied yet. No phase of a lack of memory wants more of the rest.
UP, DOWN = 1, -1
SHARE = "gpu_memory_utilization"
NEVER_UP = ("max_model_len", "max_num_seqs", "max_num_batched_tokens", "max_cudagraph_capture_size")
WRONG = {
    "free_memory_check": {(SHARE, UP)},
    "kv_check": {(SHARE, DOWN)},
    "kv_alloc": {(SHARE, UP)},
    "graph_capture": {(SHARE, UP)},
    "sampler_warmup": {(SHARE, UP)},
    "runtime": {(SHARE, UP)},
    "weights_load": {(SHARE, UP), (SHARE, DOWN)},
    "profile_run": {(SHARE, UP), (SHARE, DOWN), ("enforce_eager", UP)},
}


def results(*lines, gpu=None, vllm=None, **given_values):
    options = EngineOptions(gpu=gpu, vllm=vllm)
    command = EngineArgs({name: Given(value, "command line") for name, value in given_values.items()})
    logs = (Log("log", ["\n".join(lines).encode()]),)
    report = diagnose_crash(Question(logs, command=command, options=options), LIBRARY)
    return report.results


def offers_of(result) -> list[Offer]:
    return [offer for offer in (result.plan.best, *result.plan.alternatives) if offer] if result.plan else []


def cause_of(result):
    module = CATALOGUE.page(result.diagnosis.findings[0].code)["module"]
    return importlib.import_module(f"oomedic.causes.{module}").match


def direction(change):
    before, after = change.before, change.after
    if isinstance(after, bool):
        return (UP if after else DOWN) if bool(before) != after else 0
    if isinstance(before, int | float) and isinstance(after, int | float):
        return (after > before) - (after < before)
    return 0


def wrong_ways(result):
    """The changes that MEMORY-wise turn this phase the wrong way."""
    if not result.diagnosis.findings[0].code.startswith("OOM"):
        return []
    wrong = WRONG.get(result.phase, set()) | {(name, UP) for name in NEVER_UP}
    if result.diagnosis.findings[0].code == "OOM603":
        wrong = wrong - {(SHARE, UP)}  # requests are swapped out because the pool is too small
    return [
        (offer.remedy, change.target, change.before, change.after)
        for offer in offers_of(result)
        for change in offer.changes
        if (change.target, direction(change)) in wrong
    ]


def check(result):
    if not result.diagnosis.findings:
        return
    cause, offers = cause_of(result), offers_of(result)
    offered = {offer.remedy for offer in offers}
    assert not offered & set(cause.worsens)
    assert not offered & set(cause.useless)
    assert offered <= set(cause.helps)
    assert wrong_ways(result) == []
    for offer in offers:
        assert offer.after is None or offer.after.outcome == "starts", offer.remedy
        if offer.after is not None and offer.after.budget.left is not None:
            assert offer.after.budget.left.value >= 0, offer.remedy
            assert all(one.margin.value >= one.margin.low * 0.1 for one in offer.after.checks), offer.remedy
        assert offer.cost
        assert offer.safety in SAFETIES


@pytest.mark.parametrize("case", CRASHES, ids=lambda case: case["id"])
def test_a_real_crash_gets_no_plan_that_harms(case):
    for result in results(*case["log_excerpt"]):
        check(result)


TORCH = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {tried:.2f} GiB. GPU 0 has a total capacity of "
    "{total} GiB of which {free:.2f} GiB is free."
)
MODELS = ["meta-llama/Llama-3.1-8B-Instruct", "Qwen/Qwen2.5-7B-Instruct", "openai/gpt-oss-20b", "google/gemma-3-4b-it"]
CARDS = {"NVIDIA A10G": 22.06, "NVIDIA L40S": 44.4, "NVIDIA H100 80GB HBM3": 79.1}
MARKS = {
    "weights_load": [],
    "profile_run": ["Model loading took 14.99 GiB and 9.1 seconds"],
    "graph_capture": [
        "Model loading took 14.99 GiB and 9.1 seconds",
        "Available KV cache memory: 3.53 GiB",
        "GPU KV cache size: 28,912 tokens",
        "Capturing CUDA graphs (mixed prefill-decode, PIECEWISE):   0%|          | 0/67 [00:00<?, ?it/s]",
    ],
}
AFTER_THE_CHECK = ("graph_capture", "sampler_warmup")
"""One request fitted: 28,912 tokens are printed."""
MARKS["sampler_warmup"] = [*MARKS["graph_capture"], "Graph capturing finished in 21 secs, took 0.50 GiB"]


@st.composite
def crashes(draw):
    """The log of an engine that dies in a phase, with its arguments as it prints them, and its card."""
    phase = draw(st.sampled_from(["free_memory_check", "kv_check", "no_cache", *MARKS]))
    version, model, card = (
        draw(st.sampled_from(each)) for each in (["0.8.5", "0.10.2", "0.18.1", "0.20.2", "0.32.0"], MODELS, list(CARDS))
    )
    share = draw(st.sampled_from([0.5, 0.7, 0.9, 0.95, 0.99]))
    given_values = {
        "model": model,
        "gpu_memory_utilization": share,
        "max_model_len": draw(st.sampled_from([2048, 8192] if phase in AFTER_THE_CHECK else [2048, 8192, 65536])),
        "max_num_seqs": draw(st.sampled_from([8, 256, 1024])),
    }
    total = CARDS[card]
    figures = {"total": total, "tried": draw(st.floats(0.02, 4)), "free": draw(st.floats(0, 0.9))}
    error = {
        "free_memory_check": f"ValueError: Free memory on device cuda:0 ({total * share * 0.8:.2f}/{total} GiB) on "
        f"startup is less than desired GPU memory utilization ({share}, {total * share:.2f} GiB).",
        "kv_check": "ValueError: To serve at least one request with the models's max seq len "
        f"({given_values['max_model_len']}), (8.00 GiB KV cache is needed, which is larger than the available KV cache "
        f"memory ({draw(st.floats(0.1, 7)):.2f} GiB).",
        "no_cache": "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`.",
        "sampler_warmup": "RuntimeError: CUDA out of memory occurred when warming up sampler with "
        f"{given_values['max_num_seqs']} dummy requests.",
    }.get(phase, TORCH.format(**figures))
    lines = [
        f"vLLM API server version {version}",
        f"non-default args: {given_values}",
        f"Starting to load model {model}...",
        *MARKS.get(phase, []),
        error,
    ]
    return lines, draw(st.sampled_from([card, None]))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(crashes())
def test_a_generated_crash_gets_no_plan_that_harms(crash):
    lines, card = crash
    (result,) = results(*lines, gpu=card)
    assert result.diagnosis.findings
    check(result)


KV = (
    "ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB KV cache is needed, "
    "which is larger than the available KV cache memory (4.51 GiB). Based on the available memory, the estimated "
    "maximum model length is 36928."
)
ARGS = "non-default args: {'model': 'meta-llama/Llama-3.1-8B-Instruct', 'max_model_len': 131072}"
BANNER = "vLLM API server version 0.10.2"


def test_the_smallest_change_comes_first_and_a_rollout_on_other_hardware_last():
    (result,) = results(BANNER, ARGS, KV, gpu="A10G")
    ranks = [SAFETIES.index(offer.safety) for offer in offers_of(result)]
    assert ranks == sorted(ranks)
    assert result.plan.best.remedy == "FIX101"
    assert result.plan.best.changes[0].after <= 36928


def test_what_the_engine_itself_printed_is_proof():
    (result,) = results(BANNER, ARGS, KV)
    assert result.plan.best.proof == "log:3"


def test_what_makes_it_worse_is_listed_with_the_reason():
    (result,) = results(BANNER, ARGS, KV)
    reasons = {rejected.remedy: rejected.because.message for rejected in result.plan.rejected}
    assert reasons["FIX103"] == "plan.worsens"


def test_a_remedy_is_either_offered_or_rejected_and_never_both():
    (result,) = results(BANNER, ARGS, KV)
    offered = {offer.remedy for offer in offers_of(result)}
    rejected = {each.remedy for each in result.plan.rejected}
    assert not offered & rejected


def test_no_offer_owes_all_it_does_to_the_shorter_requests_that_go_with_it():
    (result,) = results(BANNER, ARGS, KV, gpu="A10G")
    lengths = {
        offer.remedy: change.after
        for offer in offers_of(result)
        for change in offer.changes
        if change.target == "max_model_len"
    }
    alone = lengths.pop("FIX101")
    assert lengths
    assert all(length > alone for length in lengths.values())


def test_without_model_and_card_few_guesses_are_offered_and_said_to_be_such():
    (result,) = results("ValueError: No available memory for the cache blocks.")
    offers = offers_of(result)
    assert 0 < len(offers) <= 3
    assert not any(offer.verified for offer in offers)


def test_without_a_release_an_offer_covers_all_that_remain_or_says_where_it_fails():
    torch = TORCH.format(tried=2.0, total=22.06, free=0.5)
    scout = {"model": "meta-llama/Llama-4-Scout-17B-16E-Instruct", "max_model_len": 32768, "gpu": "A10G"}
    offers, known = (
        {offer.instance.type: offer for offer in offers_of(results(torch, vllm=vllm, **scout)[0]) if offer.instance}
        for vllm in (None, "0.20.2")
    )
    # 0.8.0 samples 1024 rows of 202,048 entries on every card, 38 bytes each: 5.5 GiB more than later releases on A100
    assert failing(offers["p4d.24xlarge"]) == ["0.8.0"]
    assert offers["p4d.24xlarge"].after.certainty == "edge"
    assert failing(offers["p4de.24xlarge"]) == failing(known["p4d.24xlarge"]) == []
    assert offers["p4de.24xlarge"].after.budget.item("activation").high > 1024 * 202048 * 38


def failing(offer):
    return [claim.parameters["release"] for claim in offer.cost if claim.message == "plan.not-in-release"]


def test_a_crash_that_is_not_recognised_gets_no_plan():
    (result,) = results("RuntimeError: something that nobody has seen")
    assert result.plan is None
