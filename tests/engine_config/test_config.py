"""Defaults per release and card, as vllm/engine/arg_utils.py and vllm/config of those releases set them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oomedic.arguments.given import EngineArgs, Given
from oomedic.engine.config import EngineConfig, ModelFacts, Setting, configure
from oomedic.engine.rules import releases, rules_at
from oomedic.sources.builtin import load
from oomedic.version import Version, parse_version

CATALOGUE = load()
ROWS = CATALOGUE.engines()
LLAMA = ModelFacts(max_model_len=131072, architecture="LlamaForCausalLM")


def config(version, gpu="A10G", model=LLAMA, context="api", **given):
    environment = {name: given.pop(name) for name in list(given) if name.isupper()}
    args = EngineArgs({name: Given(value, "command line") for name, value in given.items()}, environment)
    card = CATALOGUE.gpu(gpu) if gpu else None
    return configure(args, model, card, rules_at(parse_version(version), ROWS), context)


def limits(found):
    return found.value("max_num_batched_tokens"), found.value("max_num_seqs")


# _set_default_args_v1 and get_batch_defaults: 70 GiB and more (0.9.0+: unless it is an A100), 160 GiB and more (0.28+)
@pytest.mark.parametrize(
    "version", ["0.8.5", "0.9.2", "0.10.2", "0.11.2", "0.14.1", "0.18.1", "0.20.2", "0.23.0", "0.26.0"]
)
@pytest.mark.parametrize(
    ("gpu", "api", "library"),
    [
        ("A10G", (2048, 256), (8192, 256)),
        ("L40S", (2048, 256), (8192, 256)),
        ("A100-SXM4-40GB", (2048, 256), (8192, 256)),
        ("H100", (8192, 1024), (16384, 1024)),
        ("H200", (8192, 1024), (16384, 1024)),
        ("B200", (8192, 1024), (16384, 1024)),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", (8192, 1024), (16384, 1024)),
    ],
)
def test_large_cards_get_larger_batches(version, gpu, api, library):
    assert limits(config(version, gpu)) == api
    assert limits(config(version, gpu, context="library")) == library


@pytest.mark.parametrize(
    ("version", "expected"), [("0.8.5", (8192, 1024)), ("0.9.1", (2048, 256)), ("0.32.0", (2048, 256))]
)
def test_an_a100_with_80_gb_is_an_exception_since_0_9(version, expected):
    assert limits(config(version, "A100-SXM4-80GB")) == expected


@pytest.mark.parametrize(("version", "tokens"), [("0.26.0", 8192), ("0.28.0", 16384), ("0.32.0", 16384)])
def test_cards_of_160_gib_get_larger_batches_in_the_server_since_0_28(version, tokens):
    assert limits(config(version, "B200")) == (tokens, 1024)
    assert limits(config(version, "H200")) == (8192, 1024)


def test_a_card_that_is_not_known_gets_the_smaller_defaults():
    assert limits(config("0.20.0", gpu=None)) == (2048, 256)


@pytest.mark.parametrize(
    ("version", "tokens", "seqs"), [("0.9.2", 2048, 256), ("0.10.0", 2048, 128), ("0.18.1", 2048, 128)]
)
def test_the_cpu_has_limits_of_its_own_since_0_10_for_each_rank(version, tokens, seqs):
    assert limits(config(version, gpu=None, device="cpu")) == (tokens, seqs)
    ranks = 2 if seqs == 128 else 1
    assert limits(config(version, gpu=None, device="cpu", tensor_parallel_size=2)) == (ranks * tokens, ranks * seqs)


@pytest.mark.parametrize(
    ("version", "length", "tokens"),
    [
        ("0.4.0", 4096, 4096),  # no chunked prefill: a whole prompt in one batch, at least 2048
        ("0.4.0", 1024, 2048),
        ("0.4.0", 131072, 131072),
        ("0.6.1", 32768, 32768),
        ("0.6.1", 32769, 512),  # chunked prefill switches itself on above 32768
        ("0.6.6", 131072, 2048),
        ("0.7.3", 16384, 16384),
    ],
)
def test_v0_without_chunked_prefill_profiles_a_whole_prompt(version, length, tokens):
    assert limits(config(version, max_model_len=length)) == (tokens, 256)


@pytest.mark.parametrize("reason", ["multimodal", "latent", "windowed"])
def test_some_models_never_chunk_in_v0(reason):
    model = LLAMA._replace(**{reason: True})
    assert not config("0.7.3", model=model).flag("enable_chunked_prefill")
    assert config("0.8.5", model=model).flag("enable_chunked_prefill")


def test_v0_profiles_at_least_5120_tokens_of_a_multimodal_model():
    assert limits(config("0.7.3", model=ModelFacts(max_model_len=4096, multimodal=True))) == (5120, 256)


@pytest.mark.parametrize(
    ("version", "gpu", "length", "tokens"),
    [
        ("0.10.2", "A10G", 1024, 1024),  # max_model_len, whatever the default
        ("0.10.2", "H100", 4096, 4096),
        ("0.11.2", "A10G", 1024, 2048),  # at least the default
        ("0.11.2", "H100", 4096, 8192),
        ("0.20.2", "A10G", 16384, 16384),
    ],
)
def test_v1_without_chunked_prefill_takes_whole_prompts(version, gpu, length, tokens):
    found = config(version, gpu, max_model_len=length, enable_chunked_prefill=False)
    assert found.value("max_num_batched_tokens") == tokens


@pytest.mark.parametrize(("version", "tokens"), [("0.8.5", 2048), ("0.10.2", 2048), ("0.11.2", 1000), ("0.32.0", 1000)])
def test_a_batch_is_no_larger_than_all_requests_together_since_0_11_1(version, tokens):
    assert config(version, max_model_len=500, max_num_seqs=2).value("max_num_batched_tokens") == tokens


@pytest.mark.parametrize(("version", "seqs"), [("0.9.2", 256), ("0.10.1", 64), ("0.11.2", 64), ("0.32.0", 64)])
def test_sequences_are_no_more_than_batched_tokens_since_0_10_1(version, seqs):
    assert config(version, max_num_batched_tokens=64).value("max_num_seqs") == seqs


def test_a_limit_that_was_given_is_never_changed():
    found = config("0.20.2", max_num_batched_tokens=64, max_num_seqs=512)
    assert limits(found) == (64, 512)
    assert found.settings["max_num_seqs"] == Setting(512, "given", "command line")


@pytest.mark.parametrize(
    ("version", "expected"), [("0.14.1", (2048, 256)), ("0.18.1", (4096, 512)), ("0.32.0", (4096, 512))]
)
def test_the_throughput_mode_doubles_both_limits_since_0_17(version, expected):
    assert limits(config(version, performance_mode="throughput")) == expected


@pytest.mark.parametrize(
    ("version", "gpu", "generation"),
    [
        ("0.7.3", "H100", "V0"),
        ("0.8.0", "H100", "V1"),
        ("0.8.5", "T4", "V0"),
        ("0.10.1", "Tesla V100-SXM2-16GB", "V0"),
        ("0.10.2", "T4", "V1"),
        ("0.11.0", "T4", "V1"),
    ],
)
def test_old_cards_ran_v0_until_0_10_1(version, gpu, generation):
    assert config(version, gpu).generation == generation


@pytest.mark.parametrize(
    ("version", "forced", "generation"),
    [("0.6.6", "1", "V0"), ("0.7.3", "1", "V1"), ("0.8.5", "0", "V0"), ("0.10.2", "0", "V0"), ("0.11.0", "0", "V1")],
)
def test_the_generation_can_be_forced_while_there_are_two(version, forced, generation):
    assert config(version, VLLM_USE_V1=forced).generation == generation


# use_v2_model_runner of vllm/config/vllm.py
@pytest.mark.parametrize(
    ("version", "model", "runner"),
    [
        ("0.20.2", LLAMA, "V1"),
        ("0.22.0", LLAMA, "V1"),
        ("0.22.0", ModelFacts(architecture="Qwen3ForCausalLM"), "V2"),
        ("0.22.0", ModelFacts(architecture="Qwen3ForCausalLM", quantization="fp8"), "V1"),
        ("0.23.0", LLAMA, "V2"),
        ("0.24.0", LLAMA._replace(quantization="awq"), "V2"),
        ("0.25.0", ModelFacts(architecture="Gemma3ForCausalLM"), "V2"),
        ("0.25.0", ModelFacts(architecture="Qwen3MoeForCausalLM", experts=True), "V1"),
        ("0.30.0", ModelFacts(architecture="Qwen3MoeForCausalLM", experts=True), "V2"),
    ],
)
def test_the_second_model_runner_takes_over_model_by_model(version, model, runner):
    assert config(version, model=model).runner == runner


def test_a_variable_chooses_the_model_runner():
    assert config("0.20.2", VLLM_USE_V2_MODEL_RUNNER="1").runner == "V2"
    assert config("0.30.0", VLLM_USE_V2_MODEL_RUNNER="0").runner == "V1"


def test_graphs_are_inside_the_request_as_release_and_runner_say():
    assert not config("0.19.0").graphs_budgeted
    assert config("0.20.0").graphs_budgeted
    assert not config("0.23.0").graphs_budgeted  # Llama runs on the second model runner, which counts none until 0.30
    assert config("0.30.0").graphs_budgeted
    assert not config("0.10.2", VLLM_USE_V1="0").graphs_budgeted


def test_given_printed_and_defaulted_values_are_told_apart():
    args = EngineArgs({"max_model_len": Given(4096, "args[3]"), "max_num_seqs": Given(64, "log:12")})
    found = configure(args, LLAMA, None, rules_at(Version(0, 10, 2), ROWS))
    assert found.settings["max_model_len"] == Setting(4096, "given", "args[3]")
    assert found.settings["max_num_seqs"] == Setting(64, "printed", "log:12")
    assert found.settings["gpu_memory_utilization"].origin == "default"
    assert found.is_given("max_model_len")
    assert not found.is_given("max_num_seqs")


def test_the_length_comes_from_the_model_unless_it_is_given():
    assert config("0.10.2").max_model_len == 131072
    assert config("0.10.2", max_model_len=4096).max_model_len == 4096
    assert config("0.20.2", max_model_len="auto").max_model_len == 131072
    assert config("0.10.2", model=ModelFacts()).max_model_len is None


def test_what_was_given_but_cannot_be_known_here_is_taken_for_the_default():
    found = config("0.10.2", gpu_memory_utilization=None, max_num_seqs=None)
    assert (found.utilization, found.value("max_num_seqs")) == (0.9, 256)
    assert not found.is_given("max_num_seqs")


@pytest.mark.parametrize("value", ["many", float("nan"), float("inf"), True, [1]])
def test_a_number_that_is_none_counts_as_nothing(value):
    found = config("0.10.2", gpu_memory_utilization=value, tensor_parallel_size=value)
    assert (found.utilization, found.tensor_parallel_size) == (0, 1)


@given(st.sampled_from(releases(ROWS)), st.sampled_from(["T4", "A10G", "A100-SXM4-80GB", "H100", "B200", None]))
def test_every_release_has_every_default_for_every_card(release, gpu):
    found = config(str(release), gpu)
    for name in (
        "gpu_memory_utilization",
        "max_num_seqs",
        "max_num_batched_tokens",
        "block_size",
        "tensor_parallel_size",
    ):
        assert found.value(name) is not None, name
    assert 0 < found.utilization <= 1


@given(
    st.sampled_from(releases(ROWS)),
    st.fixed_dictionaries(
        {},
        optional={
            "max_model_len": st.sampled_from([512, 4096, 40000]),
            "max_num_seqs": st.integers(1, 2048),
            "max_num_batched_tokens": st.integers(1, 65536),
            "gpu_memory_utilization": st.sampled_from([0.5, 0.95]),
            "enforce_eager": st.booleans(),
        },
    ),
)
def test_what_was_given_stays_as_it_is_in_every_release(release, given_values):
    found = config(str(release), **given_values)
    assert {name: found.value(name) for name in given_values} == given_values


def test_replacing_a_setting_leaves_the_others_and_the_original_alone():
    before = config("0.20.2", max_num_seqs=64)
    after = before.replaced({"max_num_seqs": 8})
    assert isinstance(after, EngineConfig)
    assert (before.value("max_num_seqs"), after.value("max_num_seqs")) == (64, 8)
    assert {name for name in after.settings if after.settings[name] != before.settings[name]} == {"max_num_seqs"}


@pytest.mark.parametrize(("version", "tokens", "seqs"), [("0.13.0", 2048, 256), ("0.33.0", 2048, 256)])
def test_a_gb10_has_the_defaults_of_a_small_card(version, tokens, seqs):
    # NVML does not tell the memory of integrated parts, so that releases before 0.33 took it for none
    gb10 = CATALOGUE.gpu("GB10")
    found = configure(EngineArgs({}), ModelFacts(max_model_len=32768), gb10, rules_at(parse_version(version), ROWS))
    assert (found.value("max_num_batched_tokens"), found.value("max_num_seqs")) == (tokens, seqs)


@pytest.mark.parametrize(
    ("version", "model", "expected"),
    [
        ("0.10.1", ModelFacts(recurrent=True), "V0"),  # "Mamba is experimental on VLLM_USE_V1=1. Falling back to V0"
        ("0.10.2", ModelFacts(recurrent=True), "V1"),
        ("0.10.2", ModelFacts(architecture="MllamaForConditionalGeneration"), "V0"),
        ("0.10.1", ModelFacts(architecture="WhisperForConditionalGeneration"), "V0"),
        ("0.10.2", ModelFacts(architecture="WhisperForConditionalGeneration"), "V1"),
        ("0.10.0", ModelFacts(architecture="BertModel"), "V0"),
        ("0.11.0", ModelFacts(architecture="MllamaForConditionalGeneration", recurrent=True), "V1"),
    ],
)
def test_v1_falls_back_to_v0_for_models_that_it_cannot_run_yet(version, model, expected):
    rules = rules_at(parse_version(version), ROWS)
    assert configure(EngineArgs({}), model, None, rules).generation == expected
    chosen = EngineArgs({}, {"VLLM_USE_V1": "1"})
    assert configure(chosen, model, None, rules).generation == "V1"


@pytest.mark.parametrize(
    ("version", "card", "latent", "expected"),
    [
        ("0.8.5", "NVIDIA A100-SXM4-80GB", False, "V0"),
        ("0.8.5", "H100", False, "V1"),
        ("0.9.2", "B200", False, "V0"),
        ("0.10.0", "B200", False, "V1"),
        ("0.10.2", "L40S", False, "V0"),
        ("0.10.2", "NVIDIA A100-SXM4-80GB", True, "V1"),
        ("0.11.0", "L40S", False, "V1"),
    ],
)
def test_v1_falls_back_to_v0_where_no_kernel_takes_an_fp8_cache(version, card, latent, expected):
    args = EngineArgs({"kv_cache_dtype": Given("fp8", "command line")})
    rules, gpu = rules_at(parse_version(version), ROWS), CATALOGUE.gpu(card)
    assert configure(args, ModelFacts(latent=latent), gpu, rules).generation == expected
    assert configure(EngineArgs({}), ModelFacts(latent=latent), gpu, rules).generation == "V1"
