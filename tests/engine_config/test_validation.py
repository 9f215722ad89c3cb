"""What the engine refuses before it touches the GPU."""

import pytest

from oomedic.arguments.given import EngineArgs, Given
from oomedic.engine.config import ModelFacts, configure
from oomedic.engine.rules import releases, rules_at
from oomedic.engine.validation import refusal
from oomedic.sources.builtin import load
from oomedic.version import parse_version

ROWS = load().engines()
FACTS = ModelFacts(max_model_len=8192)


def refused(version="0.20.2", *, long_allowed=False, **given):
    args = EngineArgs({name: Given(value, "command line") for name, value in given.items()})
    found = refusal(
        configure(args, FACTS, None, rules_at(parse_version(version), ROWS)), FACTS, long_allowed=long_allowed
    )
    return found and found.slug


@pytest.mark.parametrize("version", [str(release) for release in releases(ROWS)])
def test_defaults_are_never_refused(version):
    assert refused(version) is None


@pytest.mark.parametrize(
    ("share", "slug"), [(0.01, None), (0.9, None), (1.0, None), (1.01, True), (0.0, True), (-0.5, True)]
)
def test_a_share_is_more_than_nothing_and_at_most_all(share, slug):
    assert refused(gpu_memory_utilization=share) == (slug and "share-out-of-range")


@pytest.mark.parametrize("name", ["max_model_len", "max_num_seqs", "max_num_batched_tokens", "tensor_parallel_size"])
@pytest.mark.parametrize(("value", "slug"), [(1, None), (0, "not-positive"), (-3, "not-positive")])
def test_counts_are_positive(name, value, slug):
    if name == "max_num_batched_tokens" and value == 1:
        assert refused(max_num_batched_tokens=1, max_num_seqs=1) is None
    else:
        assert refused(**{name: value}) == slug


def test_a_length_that_the_engine_is_to_find_is_no_negative_one():
    assert refused(max_model_len="auto") is None


@pytest.mark.parametrize(
    ("length", "allowed", "slug"), [(8192, False, None), (8193, False, "length-exceeds-model"), (8193, True, None)]
)
def test_a_request_is_no_longer_than_the_model_allows(length, allowed, slug):
    assert refused(max_model_len=length, long_allowed=allowed) == slug


def test_a_batch_holds_a_token_of_every_sequence():
    assert refused(max_num_batched_tokens=64, max_num_seqs=65) == "batch-too-small"
    assert refused(max_num_batched_tokens=64, max_num_seqs=64) is None
    assert refused("0.20.2", max_num_batched_tokens=64) is None  # the default of max_num_seqs follows since 0.10.1
    assert refused("0.9.2", max_num_batched_tokens=64) == "batch-too-small"


def test_a_batch_without_chunked_prefill_holds_a_whole_prompt():
    assert refused(max_num_batched_tokens=4096, enable_chunked_prefill=False) == "batch-too-small"
    assert refused(max_num_batched_tokens=8192, enable_chunked_prefill=False) is None
    assert refused(max_num_batched_tokens=4096) is None


def test_a_refusal_is_said_first_and_decides(oomedic):
    words = ("--gpu", "A10G", "--vllm", "0.20.2", "--", "vllm", "serve", "meta-llama/Llama-3.1-8B-Instruct")
    out = oomedic("budget", *words, "--max-model-len", "999999").out
    assert out.splitlines()[:2] == [
        "By our arithmetic this configuration does not start: it dies in the phase config_validation.",
        "max_model_len 999,999 is refused: the model allows 131,072.",
    ]
    assert out.count("is refused") == 1
    assert oomedic("diagnose", *words, "--max-model-len", "999999").status == 1


@pytest.mark.parametrize(("version", "outcome"), [("0.12.0", "crashes"), ("0.14.1", "starts"), ("0.32.0", "starts")])
@pytest.mark.parametrize("asked", ["auto", "-1"])
def test_the_engine_finds_the_longest_request_itself_since_0_14(oomedic, version, outcome, asked):
    words = ("-o", "json", "--gpu", "A10G", "--vllm", version, "--", "meta-llama/Llama-3.1-8B-Instruct")
    (result,) = oomedic("budget", *words, "--max-model-len", asked).results
    assert result["outcome"] == outcome
    if outcome == "starts":
        # one request takes the whole pool: 128 KiB for each token
        fitted = result["kv_cache"]["estimated_max_model_len"]
        assert fitted * 2**17 <= result["budget"]["items"]["kv_cache"]["value"] < (fitted + 32) * 2**17
        assert result["kv_cache"]["needed_for_one_request"] == fitted * 2**17


def test_what_a_log_shows_outranks_what_we_would_refuse(oomedic):
    log = (
        "vLLM API server version 0.20.2\n"
        "non-default args: {'model': 'meta-llama/Llama-3.1-8B-Instruct', 'max_model_len': 999999}\n"
        "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`.\n"
    )
    (result,) = oomedic("diagnose", "-", "-o", "json", stdin=log).results
    assert (result["outcome_origin"], result["phase"]) == ("printed", "kv_check")
