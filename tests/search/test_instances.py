"""The search for instance types: hand calculations, and equality with a scan that prunes and remembers nothing."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oomedic.arguments.given import EngineArgs, Given
from oomedic.engine.config import configure
from oomedic.errors import UsageError
from oomedic.instance import large_enough
from oomedic.memory.assessment import assess
from oomedic.search.bench import Bench
from oomedic.search.instances import acceptable, rank, search
from oomedic.search.knobs import ladder
from oomedic.search.splits import splits
from oomedic.units import GIB

MODELS = (
    ("meta-llama/Llama-3.1-8B-Instruct", 8192, 16),
    ("meta-llama/Llama-3.3-70B-Instruct", 32768, 1),
    ("meta-llama/Llama-3.3-70B-Instruct", 32768, 16),
    ("meta-llama/Llama-4-Scout-17B-16E-Instruct", 32768, 1),
    ("meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8", 32768, 4),
    ("meta-llama/Llama-2-13b-hf", 4096, 8),
    ("mistralai/Mistral-7B-v0.1", 16384, 4),
    ("mistralai/Mixtral-8x7B-Instruct-v0.1", 16384, 4),
    ("Qwen/Qwen2.5-7B-Instruct", 32768, 8),
    ("Qwen/Qwen2.5-72B-Instruct", 32768, 2),
    ("Qwen/Qwen2.5-0.5B-Instruct", 8192, 64),
    ("Qwen/Qwen3-8B", 32768, 16),
    ("Qwen/Qwen3-8B-AWQ", 32768, 16),
    ("Qwen/Qwen3-30B-A3B", 32768, 8),
    ("Qwen/Qwen3-235B-A22B", 32768, 2),
    ("Qwen/Qwen2.5-VL-7B-Instruct", 16384, 4),
    ("deepseek-ai/DeepSeek-V3", 32768, 4),
    ("deepseek-ai/DeepSeek-V2-Lite", 16384, 8),
    ("deepseek-ai/DeepSeek-R1-Distill-Qwen-32B", 32768, 4),
    ("google/gemma-2-9b-it", 8192, 8),
    ("google/gemma-3-27b-it", 32768, 8),
    ("google/gemma-3-4b-it", 32768, 32),
    ("openai/gpt-oss-20b", 65536, 8),
    ("openai/gpt-oss-120b", 65536, 8),
    ("microsoft/Phi-3-mini-4k-instruct", 4096, 32),
    ("microsoft/phi-4", 16384, 4),
    ("tiiuae/falcon-40b", 2048, 16),
    ("ibm-granite/granite-4.0-h-small", 32768, 8),
    ("nvidia/NVIDIA-Nemotron-Nano-9B-v2", 32768, 16),
    ("zai-org/GLM-4.5-Air", 32768, 4),
    ("moonshotai/Kimi-K2-Instruct", 32768, 1),
    ("01-ai/Yi-34B", 4096, 8),
)


def shown(answer):
    return (
        answer.instance.type,
        answer.contender.checkpoint.id,
        tuple(answer.split),
        dict(answer.changes),
        answer.concurrency,
    )


def plain_config(wish, contender, gpu, wanted):
    given = dict(wish.given.given) | {name: Given(value, "search") for name, value in wanted.items()}
    config = configure(EngineArgs(given, wish.given.environment), contender.facts, gpu, wish.rules)
    if "max_num_seqs" not in given and config.integer("max_num_seqs") < wish.concurrency:
        given["max_num_seqs"] = Given(wish.concurrency, "search")
        config = configure(EngineArgs(given, wish.given.environment), contender.facts, gpu, wish.rules)
    return config


def brute_force(wish, instance):
    """Assess every candidate from nothing, in the order in which they are preferred; the first that fits."""
    gpu = instance.gpu
    for contender in wish.contenders:
        bench = Bench(contender, wish)
        if not bench.runs_on(gpu):
            continue
        half = {"dtype": "half"} if bench.needs_half(gpu) else {}
        divided = []
        for split in splits(instance.gpus):
            if len(divided) == 2 or (divided and split.ranks < divided[0].ranks):
                break
            sizes = {"tensor_parallel_size": split.tensor, "pipeline_parallel_size": split.pipeline}
            default = plain_config(wish, contender, gpu, {**sizes, **half})
            try:
                assess(contender.checkpoint, default, gpu)
            except UsageError:
                continue
            divided.append(split)
            for changes in ({}, *ladder(default, wish, gpu)):
                config = plain_config(wish, contender, gpu, {**sizes, **half, **changes})
                assessment = assess(contender.checkpoint, config, gpu)
                if acceptable(assessment, wish):
                    raised = {}
                    if config.settings["max_num_seqs"].where == "search" and "max_num_seqs" not in changes:
                        raised = {"max_num_seqs": config.integer("max_num_seqs")}
                    named = {name: size for name, size in sizes.items() if size > 1}
                    concurrency = assessment.kv.max_concurrency if assessment.kv.tokens else None
                    arguments = {**named, **half, **raised, **changes}
                    return contender.checkpoint.id, tuple(split), arguments, concurrency
    return None


def scanned(wish, instances):
    """Return what fits on every instance type; types with the same cards differ in nothing that counts here."""
    found = {}
    for instance in filter(large_enough, instances):
        key = (instance.gpu.name, instance.gpus)
        if key not in found:
            found[key] = brute_force(wish, instance)
        if found[key] is not None:
            yield instance, found[key]


@pytest.mark.parametrize(("model", "context", "concurrency"), MODELS)
def test_the_search_finds_what_a_full_scan_of_all_instances_finds(model, context, concurrency, make_wish, instances):
    wish = make_wish(model, context=context, concurrency=concurrency)
    best = {}
    for instance, found in scanned(wish, instances):
        key = (instance.gpu.name, instance.gpus)
        price = (float("inf") if instance.price is None else instance.price, instance.type)
        if key not in best or price < best[key][0]:
            best[key] = (price, instance.gpus, (instance.type, *found))
    expected = [found for price, gpus, found in sorted(best.values(), key=lambda each: (each[0][0], each[1]))]
    assert list(map(shown, search(wish, instances))) == expected


@pytest.mark.parametrize("model", ["meta-llama/Llama-3.3-70B-Instruct", "Qwen/Qwen3-8B", "Qwen/Qwen3-30B-A3B"])
def test_with_copies_too_the_search_finds_what_a_full_scan_finds(model, make_wish, instances):
    wish = make_wish(model, context=32768, concurrency=16, allow_quantized=True)
    assert len(wish.contenders) > 2
    answers = {(answer.instance.gpu.name, answer.instance.gpus): shown(answer) for answer in search(wish, instances)}
    found = {(instance.gpu.name, instance.gpus): each for instance, each in scanned(wish, instances)}
    assert {key: answer[1:] for key, answer in answers.items()} == found


RELEASES = ("0.8.5", "0.10.2", "0.14.0", "0.20.0", "0.33.0")


ORDERS = st.fixed_dictionaries(
    {
        "context": st.sampled_from([1024, 4096, 32768, 131072]),
        "concurrency": st.integers(1, 64),
        "allow_quantized": st.booleans(),
    }
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    model=st.sampled_from(MODELS), vllm=st.sampled_from(RELEASES), order=ORDERS, share=st.sampled_from([None, 0.7, 0.9])
)
def test_no_answer_fails_its_own_budget(make_wish, instances, **drawn):
    model, vllm, order, share = (drawn[name] for name in ("model", "vllm", "order", "share"))
    stands = [("gpu_memory_utilization", share)] if share else []
    wish = make_wish(model[0], vllm=vllm, given=stands, **order)
    for answer in search(wish, instances):
        again = assess(answer.contender.checkpoint, answer.assessment.config, answer.instance.gpu)
        assert again.outcome == "starts"
        assert again.kv.max_concurrency >= order["concurrency"] or again.kv.tokens == 0
        assert again.budget == answer.assessment.budget
        assert answer.assessment.config.max_model_len == order["context"]
        assert share is None or answer.assessment.config.utilization == share


class TestTheRunbooksModel:
    """17B dense in 16 bits at 32k.

    Weights: 53 layers x (4 x 5120 x 5120 + 3 x 5120 x 13824 + 2 x 5120) + 2 x 32000 x 5120 + 5120 = 17.14e9, 34.3 GB.
    Cache: 53 layers x 2 x 40 heads x 128 x 2 bytes = 1,085,440 bytes a token, 33.1 GiB for 32,768 tokens.
    """

    WEIGHTS = 2 * (53 * (4 * 5120 * 5120 + 3 * 5120 * 13824 + 2 * 5120) + 2 * 32000 * 5120 + 5120)
    CACHE = 53 * 2 * 40 * 128 * 2 * 32768

    @pytest.fixture
    def answers(self, make_wish, instances, dense_17b):
        wish = make_wish("dense-17b", checkpoint=dense_17b, context=32768)
        return {answer.instance.type: answer for answer in search(wish, instances)}

    def test_it_is_the_size_that_the_runbook_says(self, answers):
        assert pytest.approx(34.3e9, rel=0.01) == self.WEIGHTS
        assert answers["g7e.2xlarge"].assessment.budget.item("weights").value == pytest.approx(self.WEIGHTS, rel=0.01)
        assert answers["g7e.2xlarge"].assessment.kv.needed == self.CACHE

    def test_four_a10g_are_among_the_answers(self, answers):
        # a quarter each: 8.0 GiB of weights and 8.3 GiB of cache are less than 92 % of 22.06 GiB
        assert pytest.approx(16.3, abs=0.1) == (self.WEIGHTS + self.CACHE) / 4 / GIB
        answer = answers["g5.12xlarge"]
        assert answer.split == (4, 1)
        assert answer.instance.price == 5.672

    def test_the_cheapest_is_one_card_of_96_gb(self, answers):
        # 65 GiB: less than 92 % of 94.96 GiB; more than all usable memory of each cheaper machine
        assert pytest.approx(65.0, abs=0.2) == (self.WEIGHTS + self.CACHE) / GIB
        assert min(answers, key=lambda kind: rank(answers[kind])) == "g7e.2xlarge"

    def test_no_cheaper_machine_could_hold_it(self, answers, instances):
        price = answers["g7e.2xlarge"].instance.price
        cheaper = [each for each in instances if each.price is not None and each.price < price]
        assert max(each.gpus * each.gpu.memory.high for each in cheaper) < self.WEIGHTS + self.CACHE


class TestLlama70B:
    """Llama 3.3 70B in bf16 at 32k.

    Weights: 70.55e9 x 2 bytes = 131.4 GiB. Cache: 80 layers x 2 x 8 heads x 128 x 2 bytes x 32,768 tokens = 10 GiB.
    """

    WEIGHTS = 70_553_706_496 * 2
    CACHE = 80 * 2 * 8 * 128 * 2 * 32768

    @pytest.fixture
    def answers(self, make_wish, instances):
        return search(make_wish("meta-llama/Llama-3.3-70B-Instruct", context=32768), instances)

    def test_the_cheapest_are_two_cards_of_96_gb(self, answers):
        # half each: 65.7 GiB of weights and 5 GiB of cache are less than 92 % of 94.96 GiB
        assert pytest.approx(65.7, abs=0.1) == self.WEIGHTS / 2 / GIB
        assert self.CACHE / 2 / GIB == 5.0
        assert answers[0].instance.type == "g7e.12xlarge"
        assert answers[0].split == (2, 1)
        assert answers[0].instance.price == 8.28608
        assert answers[0].assessment.kv.needed == self.CACHE / 2

    def test_no_cheaper_machine_could_hold_it(self, answers, instances):
        cheaper = [each for each in instances if each.price is not None and each.price < answers[0].instance.price]
        # the largest of them: eight T4 with 117.9 GiB at most
        assert max(each.gpus * each.gpu.memory.high for each in cheaper) < self.WEIGHTS

    def test_the_price_of_context_is_the_price_over_what_the_cache_holds(self, answers):
        best = answers[0]
        assert best.price_per_1k == pytest.approx(8.28608 / (best.concurrency * 32768 / 1000))


class TestLlama4Scout:
    """The real Llama 4 Scout: 109e9 parameters in bf16, and 2.5 GiB of rotary table on each card.

    vLLM prints 27.8 GiB for each of eight cards. Cache at 32k: 48 layers x 2 x 8 heads x 128 x 2 bytes, at most 6 GiB.
    """

    @pytest.fixture
    def answers(self, make_wish, instances):
        return search(make_wish("meta-llama/Llama-4-Scout-17B-16E-Instruct", context=32768), instances)

    def test_weights_on_eight_cards_are_those_that_vllm_prints(self, answers):
        eight = next(answer for answer in answers if answer.instance.type == "p4d.24xlarge")
        assert eight.assessment.budget.item("weights").value / GIB == pytest.approx(27.8, rel=0.01)

    def test_four_cards_of_96_gb_come_first_and_eight_a100_of_40_gb_next(self, answers):
        # 4 cards: 8 x (27.8 - 2.5) / 4 + 2.5 = 53.1 GiB of weights each, less than 92 % of 94.96
        # 8 x A100: 27.8 GiB of weights and 0.8 GiB of cache each, less than 92 % of 39.49
        assert [(answer.instance.type, answer.split) for answer in answers[:2]] == [
            ("g7e.24xlarge", (4, 1)),
            ("p4d.24xlarge", (8, 1)),
        ]

    def test_no_cheaper_machine_could_hold_it(self, answers, instances):
        cheaper = [each for each in instances if each.price is not None and each.price < answers[0].instance.price]
        # 8 x 25.3 GiB of split weights alone are 202 GiB; the largest cheaper machine is g7e.12xlarge with 190
        assert max(each.gpus * each.gpu.memory.high for each in cheaper) < 8 * (27.8 - 2.5) * GIB

    def test_answers_come_in_the_order_of_price(self, answers):
        prices = [answer.instance.price for answer in answers if answer.instance.price is not None]
        assert prices == sorted(prices)

    def test_assumed_memory_is_offered_as_assumed_with_its_band(self, answers):
        assumed = [answer for answer in answers if answer.instance.gpu.memory.origin == "assumed"]
        assert assumed
        for answer in assumed:
            (warning,) = [claim for claim in answer.warnings if claim.message == "search.assumed"]
            assert warning.parameters["low"] < warning.parameters["high"]
            assert answer.assessment.budget.total.value == warning.parameters["low"]


def warnings_of(answers, kind):
    return {claim.message for answer in answers if answer.instance.type == kind for claim in answer.warnings}


def test_a_bf16_model_on_a_t4_runs_in_float16_and_says_so(make_wish, instances):
    answers = search(make_wish("Qwen/Qwen2.5-0.5B-Instruct", context=8192), instances)
    assert "search.half" in warnings_of(answers, "g4dn.xlarge")
    t4 = next(answer for answer in answers if answer.instance.type == "g4dn.xlarge")
    assert t4.changes["dtype"] == "half"


def test_a_model_that_refuses_float16_is_not_offered_on_a_t4(make_wish, instances):
    answers = search(make_wish("google/gemma-3-4b-it", context=8192), instances)
    assert not any(answer.instance.family == "g4dn" for answer in answers)


def test_fp8_on_ampere_says_that_weights_are_unpacked(make_wish, instances):
    answers = search(make_wish("Qwen/Qwen3-8B-FP8", context=8192), instances)
    assert "search.unpacked" in warnings_of(answers, "g5.xlarge")
    assert "search.unpacked" not in warnings_of(answers, "g6.xlarge")


def test_before_marlin_fp8_needs_ampere(make_wish, instances):
    old = search(make_wish("Qwen/Qwen3-8B-FP8", vllm="0.14.0", context=4096), instances)
    assert not any(answer.instance.family == "g4dn" for answer in old)


def test_volta_is_offered_only_to_releases_whose_build_has_kernels_for_it(make_wish, instances):
    new = search(make_wish("Qwen/Qwen2.5-0.5B-Instruct", context=4096), instances)
    old = search(make_wish("Qwen/Qwen2.5-0.5B-Instruct", vllm="0.14.0", context=4096), instances)
    assert not any(answer.instance.family == "p3" for answer in new)
    assert any(answer.instance.family == "p3" for answer in old)


def test_capacity_blocks_and_reservations_are_named(make_wish, instances):
    answers = search(make_wish("Qwen/Qwen2.5-0.5B-Instruct", context=4096), instances)
    assert "search.reservation" in warnings_of(answers, "p5en.48xlarge")
    assert "search.capacity-block" in warnings_of(answers, "p6e-gb200.36xlarge")


def test_cards_that_the_model_cannot_be_split_over_are_idle(make_wish, instances):
    # 14 heads: two of four cards can be used, or two with two stages each
    answers = search(make_wish("Qwen/Qwen2.5-0.5B-Instruct", context=4096), instances)
    four = next(answer for answer in answers if answer.instance.gpus == 4)
    assert four.split == (2, 2)


def test_what_was_given_stands(make_wish, instances):
    wish = make_wish(
        "meta-llama/Llama-3.3-70B-Instruct", given=[("gpu_memory_utilization", 0.5)], context=32768, concurrency=8
    )
    for answer in search(wish, instances):
        assert "gpu_memory_utilization" not in answer.changes
        assert answer.assessment.config.utilization == 0.5


@pytest.mark.parametrize(("name", "size"), [("tensor_parallel_size", 2), ("pipeline_parallel_size", 2)])
def test_a_split_that_was_given_stands(make_wish, instances, name, size):
    wish = make_wish("meta-llama/Llama-3.1-8B-Instruct", given=[(name, size)], context=8192)
    answers = search(wish, instances)
    assert answers
    assert {getattr(answer.assessment.config, name) for answer in answers} == {size}


def test_a_split_that_does_not_divide_the_model_has_no_answer(make_wish, instances):
    # 32 heads over 3 cards
    wish = make_wish("meta-llama/Llama-3.1-8B-Instruct", given=[("tensor_parallel_size", 3)], context=8192)
    assert not search(wish, instances)


def test_more_requests_at_once_than_the_default_are_asked_for(make_wish, instances):
    answers = search(make_wish("Qwen/Qwen2.5-0.5B-Instruct", context=128, concurrency=1500), instances)
    assert all(answer.changes["max_num_seqs"] == 1500 for answer in answers)
