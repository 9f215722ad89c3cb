import json
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import oomedic
from oomedic.arguments.literals import CutOff, read_literal
from oomedic.arguments.reader import (
    ArgumentTable,
    EngineArgs,
    Given,
    merge,
    read_arguments_repr,
    read_argv,
    read_config_repr,
    read_namespace_repr,
    relevant_environment,
    words_of,
)
from oomedic.version import Version

DATA = tomllib.loads((Path(oomedic.__file__).parent / "data" / "arguments.toml").read_text(encoding="utf-8"))
TABLE = ArgumentTable.of(DATA["argument"])


def read(command, table=TABLE):
    return read_argv(words_of(*shlex.split(command)), table)


def values(args):
    return {name: found.value for name, found in args.given.items()}


def messages(args):
    return [problem.message for problem in args.problems]


@pytest.mark.parametrize(
    ("written", "name", "value"),
    [
        ("--max-model-len 4096", "max_model_len", 4096),
        ("--max-model-len=4096", "max_model_len", 4096),
        ("--max_model_len 4096", "max_model_len", 4096),
        ("--max-model-len 8k", "max_model_len", 8000),
        ("--max-model-len 8K", "max_model_len", 8192),
        ("--max-model-len auto", "max_model_len", "auto"),
        ("--max-model-len -1", "max_model_len", "auto"),
        ("--gpu-memory-utilization .95", "gpu_memory_utilization", 0.95),
        ("--gpu-memory-util 0.9", "gpu_memory_utilization", 0.9),
        ("--device-memory-utilization 0.9", "gpu_memory_utilization", 0.9),
        ("--max-num-seq=512", "max_num_seqs", 512),
        ("--max-num-batched-token 32768", "max_num_batched_tokens", 32768),
        ("--kv-cache-memory=8G", "kv_cache_memory_bytes", 8 * 2**30),
        ("-tp 8", "tensor_parallel_size", 8),
        ("-pp=2", "pipeline_parallel_size", 2),
        ("-q awq", "quantization", "awq"),
        ("-qawq", "quantization", "awq"),
        ("-O3", "optimization_level", 3),
        ("-O 3", "optimization_level", 3),
        ("-O=0", "optimization_level", 0),
        ("-O '{\"level\": 3}'", "compilation_config", {"level": 3}),
        ("-cc.level 3", "compilation_config", {"level": 3}),
        ("--enforce-eager", "enforce_eager", True),
        ("--no-enforce-eager", "enforce_eager", False),
        ("--no-enable-prefix-caching", "enable_prefix_caching", False),
        ("--limit-mm-per-prompt '{\"image\": 5}'", "limit_mm_per_prompt", {"image": 5}),
        ("--limit-mm-per-prompt image=5,video=1", "limit_mm_per_prompt", {"image": 5, "video": 1}),
        ("--kv-transfer-config '{\"cpu_bytes\": 80g}'", "kv_transfer_config", {"cpu_bytes": 80 * 10**9}),
        ("--served-model-name a b", "served_model_name", ("a", "b")),
        ("--cuda-graph-sizes 1 2 4", "cuda_graph_sizes", (1, 2, 4)),
        ("--config /etc/vllm/config.yaml", "config", "/etc/vllm/config.yaml"),
        ("--max-seq-len-to-capture 8192", "max_seq_len_to_capture", 8192),
        ("--quantization None", "quantization", None),
        ("--seed -3", "seed", -3),
    ],
)
def test_every_spelling_that_vllm_takes_is_read(written, name, value):
    args = read(f"vllm serve org/model {written}")
    assert values(args) == {name: value, "model": "org/model"}
    assert (args.unknown, args.problems) == ((), ())


@pytest.mark.parametrize(
    ("written", "value", "instead"),
    [
        ("--enable-chunked-prefill=false", False, "--no-enable-chunked-prefill"),
        ("--enable_chunked_prefill=true", True, "--enable-chunked-prefill"),
        ("--enable-chunked-prefill True", True, "--enable-chunked-prefill"),
        ("--no-enable-chunked-prefill=true", False, "--no-enable-chunked-prefill"),
    ],
)
def test_a_switch_with_a_value_is_read_and_the_spelling_that_newer_releases_take_is_told(written, value, instead):
    args = read(f"vllm serve org/model {written} --seed 1")
    assert values(args) == {"enable_chunked_prefill": value, "model": "org/model", "seed": 1}
    (problem,) = args.problems
    assert (problem.message, problem.parameters["instead"]) == ("arguments.switch-with-value", instead)
    assert problem.parameters["since"] == "0.8.5", "the release in which the switch became argparse's own"


def test_dotted_keys_of_one_object_are_joined():
    args = read("vllm serve m --compilation-config.pass_config.x true -cc.sizes+ 1,2 --compilation-config.level=3")
    assert values(args)["compilation_config"] == {"pass_config": {"x": True}, "sizes": ("1", "2"), "level": 3}


@pytest.mark.parametrize(
    "command",
    [
        "vllm serve org/m --port 1",
        "vllm serve --port 1 org/m",
        "vllm serve --model org/m --port 1",
        "python -m vllm.entrypoints.openai.api_server --model org/m --port 1",
        "python3 -m vllm.entrypoints.api_server --port=1 --model=org/m",
        "exec /usr/local/bin/vllm serve org/m --port 1",
        "--model org/m --port 1",
        "org/m --port 1",
    ],
)
def test_the_model_is_read_wherever_it_stands(command):
    assert values(read(command)) == {"model": "org/m", "port": 1}


def test_the_positional_model_wins_over_the_option():
    args = read("vllm serve org/a --model org/b")
    assert args.given["model"] == Given("org/a", "command line", "")
    assert [(name, shadow.value) for name, shadow in args.shadowed] == [("model", "org/b")]


def test_the_last_of_two_values_wins_and_the_first_is_kept_as_shadowed():
    args = read("vllm serve m --gpu_memory_utilization 0.95 --gpu-memory-utilization 0.4")
    assert args.given["gpu_memory_utilization"] == Given(0.4, "command line", "--gpu-memory-utilization")
    assert args.shadowed == (("gpu_memory_utilization", Given(0.95, "command line", "--gpu_memory_utilization")),)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("--max-model-len lots", "arguments.unreadable"),
        ("--max-num-seqs 2k", "arguments.unreadable"),
        ("--gpu-memory-utilization nan", "arguments.unreadable"),
        ("--hf-overrides '{\"a\": '", "arguments.unreadable"),
        ("--enforce-eager=perhaps", "arguments.unreadable"),
        ("--max-model-len", "arguments.without-value"),
        ("--max-num-s 3", "arguments.ambiguous"),
        ("'--max-model-len 4096'", "arguments.joined"),
        ("stray", "arguments.stray"),
    ],
)
def test_what_cannot_be_read_is_a_problem_and_the_rest_is_read(written, message):
    args = read(f"vllm serve m {written} --port 1")
    assert messages(args) == [message]
    assert values(args) == {"model": "m", "port": 1}


def test_a_flag_that_no_release_knows_is_named_without_its_value():
    assert read("vllm serve m --magic 7 --port 1 -z").unknown == ("--magic", "-z")


def test_a_shortened_flag_means_what_it_means_in_that_release():
    assert values(read("vllm serve m --max-num-s 3", TABLE.at(Version(0, 11, 0))))["max_num_seqs"] == 3


@pytest.mark.parametrize("written", ["--api-key sk-1 sk-2", "--api-key=sk-1", "--hf-token sk-1", "--hf-tok=sk-1"])
def test_a_secret_is_never_kept(written):
    args = read(f'vllm serve m {written} --magic-token sk-1 --kv-transfer-config \'{{"auth_token": "sk-1"}}\'')
    assert "sk-1" not in repr(args)
    assert "***" in values(args).values()


def test_only_variables_that_can_matter_are_kept_and_no_secrets():
    variables = {"VLLM_USE_V1": "0", "PYTORCH_CUDA_ALLOC_CONF": "x", "VLLM_API_KEY": "k", "HF_TOKEN": "t", "PATH": "/"}
    assert relevant_environment(variables) == {"VLLM_USE_V1": "0", "PYTORCH_CUDA_ALLOC_CONF": "x"}


def test_merging_lets_the_later_source_win():
    manifest = EngineArgs({"port": Given(1, "args[0]"), "seed": Given(0, "args[1]")}, {"VLLM_USE_V1": "0"})
    log = EngineArgs({"port": Given(2, "log:3")})
    merged = merge(manifest, log)
    assert values(merged) == {"port": 2, "seed": 0}
    assert merged.shadowed == (("port", Given(1, "args[0]")),)
    assert merged.environment == {"VLLM_USE_V1": "0"}


NON_DEFAULT = (
    "(APIServer pid=1) INFO 11-30 15:55:08 [utils.py:261] non-default args: {'model_tag': '/models/tiny', "
    "'lora_modules': [LoRAModulePath(name='sql', path='/models/lora', base_model_name=None)], 'host': '127.0.0.1', "
    "'port': 20667, 'api_key': ['sk-CANARY-1'], 'model': '/models/tiny', 'max_model_len': 1048576, "
    "'kv_cache_memory_bytes': 1000000, 'compilation_config': {'mode': <CompilationMode.NONE: 0>, 'sizes': [1, 2]}, "
    "'speculative_config': {'method': 'ngram', 'num_speculative_tokens': 3}, 'served_model_name': "
    "['Tiny Model/v1 (β) \"prod\" 100%'], 'enforce_eager': True}"
)


def test_the_line_of_non_default_arguments_is_read():
    args = read_arguments_repr(NON_DEFAULT, "log:9")
    assert values(args) == {
        "model": "/models/tiny",
        "lora_modules": ({"name": "sql", "path": "/models/lora", "base_model_name": None},),
        "host": "127.0.0.1",
        "port": 20667,
        "api_key": "***",
        "max_model_len": 1048576,
        "kv_cache_memory_bytes": 1000000,
        "compilation_config": {"mode": 0, "sizes": (1, 2)},
        "speculative_config": {"method": "ngram", "num_speculative_tokens": 3},
        "served_model_name": ('Tiny Model/v1 (β) "prod" 100%',),
        "enforce_eager": True,
    }
    assert args.given["port"] == Given(20667, "log:9", "port")


def test_digits_without_end_are_read_once():
    # digits that no bracket closes were once read again from each of them: hours for this line
    with pytest.raises(CutOff):
        read_literal("[" + "9" * 300_000)


def test_a_line_that_was_cut_off_is_read_as_far_as_it_goes():
    assert values(read_arguments_repr("non-default args: {... 'max_model_len': 98304, 'quant", "log:1")) == {
        "max_model_len": 98304
    }
    assert values(read_arguments_repr("non-default args: {'port': 1, 'speculative_config': {'method': 'x'", "l")) == {
        "port": 1
    }


@given(st.integers(min_value=0, max_value=len(NON_DEFAULT)))
def test_cutting_the_line_never_changes_what_stands_before_the_cut(end):
    whole = values(read_arguments_repr(NON_DEFAULT, "log:9"))
    for name, value in values(read_arguments_repr(NON_DEFAULT[:end], "log:9")).items():
        assert whole[name] == value


def test_the_namespace_of_older_releases_is_read_without_what_was_not_given():
    line = (
        "INFO 04-01 10:00:00 [api_server.py:1044] args: Namespace(subparser='serve', model_tag='org/m', config='', "
        "host=None, port=8000, allowed_origins=['*'], api_key='sk-1', max_model_len=4096, compilation_config=None, "
        "gpu_memory_utilization=0.9, dispatch_function=<function ServeSubcommand.cmd at 0x7f2b>)"
    )
    assert values(read_namespace_repr(line, "log:1")) == {
        "model": "org/m",
        "port": 8000,
        "allowed_origins": ("*",),
        "api_key": "***",
        "max_model_len": 4096,
        "gpu_memory_utilization": 0.9,
    }


def test_the_configuration_line_is_read_under_the_names_of_the_arguments():
    line = (
        "INFO 11-30 16:01:15 [core.py:69] Initializing a V1 LLM engine (v0.9.2) with config: model='/models/tiny', "
        "speculative_config=SpeculativeConfig(method='ngram', model=None, num_spec_tokens=3), "
        "tokenizer='/models/tiny', tokenizer_mode=auto, revision=None, dtype=torch.bfloat16, max_seq_len=1024, "
        "load_format=LoadFormat.AUTO, tensor_parallel_size=2, quantization=None, enforce_eager=True, "
        "kv_cache_dtype=auto,  device_config=cpu, "
        'seed=0, served_model_name=Tiny Model/v1 (β) "prod" 100%, chunked_prefill_enabled=True, '
        'compilation_config={"level":0,"backend":"","sizes":[1,2],"x":null,"full":false}'
    )
    assert values(read_config_repr(line, "log:1")) == {
        "model": "/models/tiny",
        "speculative_config": {"method": "ngram", "num_speculative_tokens": 3},
        "tokenizer": "/models/tiny",
        "tokenizer_mode": "auto",
        "dtype": "bfloat16",
        "max_model_len": 1024,
        "load_format": "auto",
        "tensor_parallel_size": 2,
        "enforce_eager": True,
        "kv_cache_dtype": "auto",
        "device": "cpu",
        "seed": 0,
        "served_model_name": 'Tiny Model/v1 (β) "prod" 100%',
        "enable_chunked_prefill": True,
        "compilation_config": {"level": 0, "backend": "", "sizes": (1, 2), "x": None, "full": False},
    }


def test_the_configuration_of_the_oldest_releases_ends_with_a_bracket():
    line = "Initializing an LLM engine (v0.4.0) with config: model='m', max_seq_len=2048, seed=0, enforce_eager=False)"
    assert values(read_config_repr(line, "log:1")) == {
        "model": "m",
        "max_model_len": 2048,
        "seed": 0,
        "enforce_eager": False,
    }


@given(st.text(st.sampled_from("ab=:,'\"{}[]()<>. \\-1N")))
def test_no_printed_text_makes_a_reader_fail(text):
    for reader in (read_arguments_repr, read_namespace_repr, read_config_repr):
        reader(f"non-default args: {{{text}", "log:1")
        reader(f"with config: a={text}", "log:1")
        reader(f"Namespace({text}", "log:1")


WORDS = st.one_of(st.sampled_from(sorted(TABLE.flags())), st.text(max_size=12), st.sampled_from("=.{-"))


@given(st.lists(WORDS, max_size=9))
def test_no_argument_vector_makes_it_fail(words):
    args = read_argv(words_of("vllm", "serve", *words), TABLE)
    json.dumps({name: found.value for name, found in args.given.items()})


@given(
    st.dictionaries(
        st.sampled_from([a for a in TABLE.arguments() if a.kind in {"int", "float", "count"}]),
        st.integers(min_value=0, max_value=10**9),
        max_size=8,
    ),
    st.booleans(),
    st.booleans(),
)
def test_style_and_underscores_do_not_change_what_is_read(chosen, equals, underscores):
    words = []
    for argument, value in chosen.items():
        flag = argument.flags[0].replace("-", "_").replace("__", "--") if underscores else argument.flags[0]
        words += [f"{flag}={value}"] if equals else [flag, str(value)]
    assert values(read_argv(words_of(*words), TABLE)) == {a.name: value for a, value in chosen.items()}


def test_every_argument_of_the_table_is_found_under_each_of_its_flags():
    for argument in TABLE.arguments():
        for flag in argument.flags:
            assert TABLE.find(flag).argument == argument


def test_the_table_knows_the_arguments_that_decide_about_memory():
    assert {
        *("max_model_len", "gpu_memory_utilization", "max_num_seqs", "max_num_batched_tokens", "kv_cache_memory_bytes"),
        *("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size", "enable_expert_parallel"),
        *("quantization", "dtype", "kv_cache_dtype", "enforce_eager", "cpu_offload_gb", "swap_space", "block_size"),
        *("limit_mm_per_prompt", "enable_lora", "speculative_config", "compilation_config", "num_gpu_blocks_override"),
        *("cuda_graph_sizes", "cudagraph_capture_sizes", "max_seq_len_to_capture", "max_context_len_to_capture"),
    } <= {argument.name for argument in TABLE.arguments()}


def test_arguments_are_read_without_yaml():
    code = "import sys, oomedic.arguments.reader; sys.exit('yaml' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
