"""The sizes that are captured, as vllm/config (_set_cudagraph_sizes) and vllm/worker/model_runner.py choose them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oomedic.arguments.given import EngineArgs, Given
from oomedic.engine.config import ModelFacts, configure
from oomedic.engine.rules import releases, rules_at
from oomedic.gathering.known_models import resolve
from oomedic.memory.graphs import CapturedModel, capture_sizes, graph_memory
from oomedic.sources.builtin import load
from oomedic.version import parse_version

CATALOGUE = load()
ROWS = CATALOGUE.engines()
LLAMA = resolve("meta-llama/Llama-3.1-8B-Instruct", CATALOGUE).checkpoint
V0 = {"VLLM_USE_V1": "0"}
EVERY_EIGHTH = (1, 2, 4, *range(8, 513, 8))
STEPPED = (1, 2, 4, *range(8, 257, 8), *range(272, 513, 16))


def config(version, environment=None, **given):
    args = EngineArgs({name: Given(value, "command line") for name, value in given.items()}, environment or {})
    model = ModelFacts(max_model_len=8192, architecture="LlamaForCausalLM")
    return configure(args, model, None, rules_at(parse_version(version), ROWS))


@pytest.mark.parametrize(
    ("version", "environment", "sizes"),
    [
        ("0.7.3", V0, (1, 2, 4, *range(8, 257, 8))),  # 35 graphs
        ("0.8.5", None, EVERY_EIGHTH),  # 67
        ("0.9.2", None, EVERY_EIGHTH),
        ("0.10.2", None, EVERY_EIGHTH),
        ("0.11.0", None, EVERY_EIGHTH),
        ("0.11.2", None, STEPPED),  # 51
        ("0.20.2", None, STEPPED),
        ("0.32.0", None, STEPPED),
    ],
)
def test_the_sizes_of_an_engine_with_256_sequences(version, environment, sizes):
    assert capture_sizes(config(version, environment)) == sizes


@pytest.mark.parametrize(
    ("version", "environment", "largest"),
    [
        ("0.7.3", V0, 16),
        ("0.9.2", None, 512),
        ("0.10.0", None, 32),
        ("0.11.0", None, 32),
        ("0.11.2", None, 32),
        ("0.32.0", None, 32),
    ],
)
def test_fewer_sequences_need_fewer_sizes_since_0_10(version, environment, largest):
    assert max(capture_sizes(config(version, environment, max_num_seqs=16))) == largest


def test_sizes_above_the_batch_are_not_captured_since_0_11_1():
    assert max(capture_sizes(config("0.11.2", max_num_batched_tokens=64))) == 64
    listed = config("0.20.2", max_num_batched_tokens=64, compilation_config={"cudagraph_capture_sizes": [8, 64, 128]})
    assert capture_sizes(listed) == (8, 64)


@pytest.mark.parametrize("version", ["0.8.5", "0.10.2", "0.20.2", "0.32.0"])
def test_no_graphs_in_eager_mode(version):
    assert capture_sizes(config(version, enforce_eager=True)) == ()
    assert capture_sizes(config(version, compilation_config={"cudagraph_mode": "NONE"})) == ()
    assert graph_memory(LLAMA, config(version, enforce_eager=True)).size == 0


def test_sizes_that_were_asked_for_replace_the_defaults():
    assert capture_sizes(config("0.20.2", cudagraph_capture_sizes=[4, 1, 16])) == (1, 4, 16)
    assert capture_sizes(config("0.20.2", compilation_config={"cudagraph_capture_sizes": [1, 2, 8]})) == (1, 2, 8)
    assert capture_sizes(config("0.10.2", cuda_graph_sizes=[1, 2, 128])) == (1, 2, 128)
    assert capture_sizes(config("0.10.2", cuda_graph_sizes=[24])) == (1, 2, 4, 8, 16, 24)


def test_an_upper_limit_that_is_not_on_the_grid_is_cut_down_to_it():
    assert max(capture_sizes(config("0.20.2", max_cudagraph_capture_size=257))) == 256
    assert max(capture_sizes(config("0.20.2", max_cudagraph_capture_size=100))) == 96


def test_speculated_tokens_widen_the_sizes():
    assert max(capture_sizes(config("0.20.2", max_num_seqs=32), speculative=3)) == 256  # 2 x 32 x 4


def test_gpt_oss_and_large_blackwell_cards_capture_up_to_1024():
    gpt_oss = CapturedModel("gpt_oss")
    assert max(capture_sizes(config("0.10.0"), 0, gpt_oss)) == 512
    assert len(capture_sizes(config("0.10.2"), 0, gpt_oss)) == 83
    assert len(capture_sizes(config("0.20.2"), 0, gpt_oss)) == 83
    many = {"max_num_seqs": 1024, "max_num_batched_tokens": 8192}
    assert max(capture_sizes(config("0.26.0", **many), 0, CapturedModel("llama", 10))) == 512
    assert max(capture_sizes(config("0.28.0", **many), 0, CapturedModel("llama", 10))) == 1024
    assert max(capture_sizes(config("0.28.0", **many), 0, CapturedModel("llama", 9))) == 512


@given(st.sampled_from(releases(ROWS)), st.integers(1, 2048), st.integers(1, 65536))
def test_sizes_are_ordered_distinct_and_start_at_one(release, seqs, tokens):
    sizes = capture_sizes(config(str(release), max_num_seqs=seqs, max_num_batched_tokens=tokens))
    assert list(sizes) == sorted(set(sizes))
    assert sizes[0] == 1


@given(st.sampled_from(releases(ROWS)), st.integers(1, 1024), st.integers(1, 1024))
def test_fewer_sequences_never_take_more_memory_for_graphs(release, one, other):
    few, many = sorted((one, other))
    small, large = (graph_memory(LLAMA, config(str(release), max_num_seqs=seqs)) for seqs in (few, many))
    assert small.size <= large.size
    assert small.low <= small.size <= small.high
