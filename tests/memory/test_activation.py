"""The peak of the profile run, by hand."""

import pytest

from oomedic.arguments.given import EngineArgs, Given
from oomedic.engine.config import ModelFacts, configure
from oomedic.engine.rules import rules_at
from oomedic.errors import InputError
from oomedic.gathering.known_models import resolve
from oomedic.memory.activation import activation_peak, encoder, forward, sampler, speculative
from oomedic.models.checkpoint import Checkpoint
from oomedic.sources.builtin import load
from oomedic.version import parse_version

CATALOGUE = load()
ROWS = CATALOGUE.engines()
DENSE = {"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "vocab_size": 128256}


def config(version="0.10.2", environment=None, **given):
    args = EngineArgs({name: Given(value, "command line") for name, value in given.items()}, environment or {})
    return configure(args, ModelFacts(max_model_len=8192), None, rules_at(parse_version(version), ROWS))


def model(**changed):
    return Checkpoint("org/model", {**DENSE, **changed}, "test")


def test_logits_of_all_rows_are_sorted_in_full_precision():
    # 256 rows x 128,256 entries x 38 bytes: 1.16 GiB, as dozens of logs show
    assert sampler(model(), config()).size == 256 * 128256 * 38
    assert sampler(model(), config(max_num_seqs=16)).size == 16 * 128256 * 38


def test_there_are_no_more_rows_than_tokens_in_a_batch():
    assert sampler(model(), config(max_num_batched_tokens=64, max_num_seqs=512)).size == 64 * 128256 * 38


def test_speculated_tokens_are_sampled_too():
    drafting = config(speculative_config={"num_speculative_tokens": 3}, max_num_seqs=16)
    assert speculative(drafting) == 3
    assert sampler(model(), drafting).size == 16 * 4 * 128256 * 38


@pytest.mark.parametrize("written", ["\ufffd3", None, [3], -1, 2.5])
def test_what_is_no_number_of_speculated_tokens_counts_as_none(written):
    assert speculative(config(speculative_config={"num_speculative_tokens": written})) == 0


def test_the_second_model_runner_samples_without_sorting_until_0_33():
    chosen = {"VLLM_USE_V2_MODEL_RUNNER": "1"}
    cheap, dear = (sampler(model(), config(version, chosen)).size for version in ("0.28.0", "0.33.0"))
    assert cheap < dear / 4


def test_a_pass_costs_about_its_largest_layer():
    # 2 bytes x 2048 tokens x (3 x 14336 + 3 x 4096)
    assert forward(model(), config()).size == 2 * 2048 * (3 * 14336 + 3 * 4096)
    assert forward(model(), config(max_num_batched_tokens=512)).size == 2 * 512 * (3 * 14336 + 3 * 4096)


def test_ranks_share_the_feed_forward_layer_but_not_the_hidden_state():
    assert forward(model(), config(tensor_parallel_size=4)).size == 2 * 2048 * (3 * 14336 // 4 + 3 * 4096)


QWEN = {"model_type": "qwen2", "hidden_size": 5120, "intermediate_size": 13824, "vocab_size": 152064}


@pytest.mark.parametrize(
    ("version", "ranks", "rows", "printed"),
    # Qwen2.5-14B over 32,768 tokens printed 3.79 and 2.84 GiB (github.com/daxdelvira/distributed_agent_gc, vllm.log)
    [("0.7.2", 1, 4, 3.79), ("0.7.2", 2, 5, 2.84), ("0.6.4", 2, 4, None)],
)
def test_without_compilation_a_tensor_lives_as_long_as_its_name(version, ranks, rows, printed):
    batch = {"max_num_batched_tokens": 32768, "tensor_parallel_size": ranks}
    size = forward(model(**QWEN), config(version, {"VLLM_USE_V1": "0"}, **batch)).size
    assert size == 2 * 32768 * (3 * 13824 // ranks + rows * 5120)
    assert printed is None or size / 2**30 == pytest.approx(printed, abs=0.015)


def test_eager_mode_keeps_names_in_v1_too():
    # 2 x 8192 x (3 x 8960 + 4 x 1536): 0.50 GiB, as 0.28 printed for Qwen2.5-1.5B
    small = model(model_type="qwen2", hidden_size=1536, intermediate_size=8960)
    eager, compiled = (
        forward(small, config("0.28.0", max_num_batched_tokens=8192, enforce_eager=flag)).size for flag in (True, False)
    )
    assert (eager, compiled) == (2 * 8192 * (3 * 8960 + 4 * 1536), 2 * 8192 * (3 * 8960 + 3 * 1536))


def test_layers_of_different_widths_count_with_the_widest():
    assert forward(model(intermediate_size=[16384, 8192]), config()).size == 2 * 2048 * (3 * 16384 + 3 * 4096)


def test_tokens_are_copied_for_every_expert_that_is_chosen():
    experts = {"num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768}
    dense, mixture = forward(model(), config()), forward(model(**experts), config())
    # 8 copies of each token, in and out of a layer, at 4096 elements of 2 bytes
    assert mixture.size >= 2 * 2048 * 8 * (4096 + 4096)
    assert mixture.size > dense.size


def test_the_peak_is_the_largest_part_and_not_their_sum():
    found = activation_peak(model(), config())
    assert (found.part, found.size) == ("sampler", sampler(model(), config()).size)
    few = config(max_num_seqs=1)
    assert activation_peak(model(), few) == forward(model(), few)


def test_a_vision_model_has_an_encoder_whose_peak_is_only_roughly_known():
    vision = model(vision_config={"hidden_size": 1152, "intermediate_size": 4304})
    found = encoder(vision, config())
    assert found.part == "encoder"
    assert found.high >= 4 * found.low
    assert activation_peak(vision, config()).size >= found.size


@pytest.mark.parametrize("key", ["hidden_size", "intermediate_size", "vocab_size"])
def test_a_config_that_is_malformed_gives_one_error(key):
    with pytest.raises(InputError) as refused:
        activation_peak(model(**{key: "many"}), config())
    assert refused.value.slug == "config-malformed"


@pytest.mark.parametrize("name", ["google/gemma-3n-E4B-it", "Qwen/Qwen3-30B-A3B", "deepseek-ai/DeepSeek-V2-Lite"])
def test_every_family_has_a_peak_with_a_band(name):
    found = activation_peak(resolve(name, CATALOGUE).checkpoint, config("0.20.2"))
    assert 0 < found.low <= found.size <= found.high


EXPERTS = {"num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768, "hidden_size": 2048}


@pytest.mark.parametrize(
    ("version", "block", "kept"),
    [
        ("0.13.0", {}, False),
        ("0.14.0", {}, True),
        ("0.14.0", {"quant_method": "fp8"}, True),
        ("0.14.0", {"quant_method": "awq"}, False),
        ("0.20.0", {"quant_method": "awq"}, True),
    ],
)
def test_caches_of_experts_stay_beside_the_sampler(version, block, kept):
    # 8192 tokens, 8 copies of each, twice 2048 elements of 2 bytes: 0.5 GiB. Qwen3-30B-A3B on an H200 left 6.22 GiB of
    # the request to neither weights nor cache on 0.15.0, and 5.65 on 0.10.2, with the same 1024 sequences
    mixture = model(**EXPERTS, **({"quantization_config": block} if block else {}))
    settings = config(version, max_num_seqs=1024, max_num_batched_tokens=8192)
    caches = 2 * 8192 * 8 * (2048 + 2048)
    found = activation_peak(mixture, settings)
    assert found.part == "sampler"
    assert found.size - sampler(mixture, settings).size == (caches if kept else 0)
