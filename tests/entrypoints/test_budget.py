"""`oomedic budget`: sweeps and releases side by side, and a run's log as the ground for its changes."""

import json
import re
from pathlib import Path

import pytest

import oomedic
from oomedic.entrypoints.cli import main
from oomedic.units import GIB

MODEL = ("--", "vllm", "serve", "Qwen/Qwen2.5-7B-Instruct", "--max-model-len", "8192")
TOKEN = 57344  # 28 layers x 2 x 4 KV heads x 128 x 2 bytes
TOTAL = 23684597154  # what torch reports of an A10G: 22.06 GiB
RUN = """INFO 10-12 09:00:05 [api_server.py:1839] vLLM API server version 0.11.0
INFO 10-12 09:00:05 [utils.py:233] non-default args: {'model': 'Qwen/Qwen2.5-7B-Instruct', 'max_model_len': 8192, \
'gpu_memory_utilization': 0.8}
INFO 10-12 09:00:35 [gpu_model_runner.py:2653] Model loading took 14.2488 GiB and 3.7 seconds
INFO 10-12 09:00:50 [gpu_worker.py:298] Available KV cache memory: 1.90 GiB
INFO:     Application startup complete.
"""


def budgets(capsys, *words):
    assert main(["budget", "--offline", "-o", "json", *words]) == 0
    return json.loads(capsys.readouterr().out)["results"]


def shown(capsys, *words):
    assert main(["budget", "--offline", *words]) == 0
    return capsys.readouterr().out


@pytest.fixture
def run_log(tmp_path):
    path = tmp_path / "run.log"
    path.write_text(RUN, encoding="utf-8")
    return str(path)


def test_a_sweep_has_one_result_for_each_value_in_their_order(capsys):
    found = budgets(capsys, "--gpu", "A10G", "--vllm", "0.11.0", "--sweep", "max_model_len=4096,8k,8K,32768", *MODEL)
    values = [result["subject"]["arguments"]["max_model_len"]["value"] for result in found]
    assert values == [4096, 8000, 8192, 32768]  # as vLLM reads them
    needed = [result["kv_cache"]["needed_for_one_request"] for result in found]
    assert needed == [-(-value // 16) * 16 * TOKEN for value in values]  # whole blocks of 16 tokens


def test_two_sweeps_give_every_combination(capsys):
    words = ("--gpu", "A10G", "--sweep", "max_num_seqs=64,256", "--sweep", "enforce_eager=true,false")
    found = budgets(capsys, *words, *MODEL)
    arguments = [result["subject"]["arguments"] for result in found]
    assert [(each["max_num_seqs"]["value"], each["enforce_eager"]["value"]) for each in arguments] == [
        (64, True),
        (64, False),
        (256, True),
        (256, False),
    ]


def test_releases_stand_side_by_side(capsys):
    found = budgets(capsys, "--gpu", "A10G", "--vllm", "0.8.5,0.10.2,0.20.0", *MODEL)
    assert [result["subject"]["vllm"] for result in found] == ["0.8.5", "0.10.2", "0.20.0"]
    # since 0.20 graphs are paid out of the request
    assert [result["budget"]["items"]["cuda_graphs"]["inside"] for result in found] == [False, False, True]


def test_the_table_names_what_differs_and_nothing_else(capsys):
    words = ("--gpu", "A10G", "--vllm", "0.11.0", "--sweep", "max_model_len=4096,32768")
    head, *rows = shown(capsys, *words, *MODEL).splitlines()
    assert head.split()[:2] == ["max_model_len", "outcome"]
    assert [row.split()[0] for row in rows] == ["4096", "32768"]
    assert "gpu" not in head


def test_a_row_that_dies_says_where(capsys):
    words = ("--gpu", "A10G", "--vllm", "0.11.0", "--sweep", "max_model_len=8192,32768")
    text = shown(capsys, *words, "--", "Qwen/Qwen2.5-7B-Instruct", "--gpu-memory-utilization", "0.74")
    starts, dies = text.splitlines()[1:]
    assert "starts" in starts
    assert "dies (kv_check)" in dies


def test_markdown_has_the_same_table(capsys):
    words = ("--gpu", "A10G", "--vllm", "0.11.0", "--sweep", "max_model_len=4096,32768", "-o", "markdown")
    lines = shown(capsys, *words, *MODEL).splitlines()
    assert lines[0].startswith("| max_model_len | outcome |")
    assert len(lines) == 4


def test_a_run_alone_is_its_own_budget(capsys, run_log):
    (result,) = budgets(capsys, "--gpu", "A10G", "--from-log", run_log)
    weights, pool = (result["budget"]["items"][name] for name in ("weights", "kv_cache"))
    assert (weights["origin"], pool["origin"]) == ("printed", "printed")
    assert pool["value"] == pytest.approx(1.90 * GIB, abs=0.006 * GIB)
    assert result["outcome"] == "starts"


def test_a_larger_share_goes_to_the_pool_in_full(capsys, run_log):
    (result,) = budgets(capsys, "--gpu", "A10G", "--from-log", run_log, "--", "--gpu-memory-utilization", "0.9")
    pool = result["budget"]["items"]["kv_cache"]["value"]
    assert pool == pytest.approx(1.90 * GIB + 0.1 * TOTAL, abs=0.006 * GIB)
    assert result["kv_cache"]["tokens"] == pool // (16 * TOKEN) * 16


def test_a_longer_request_leaves_the_pool_as_it_is(capsys, run_log):
    words = ("--gpu", "A10G", "--from-log", run_log, "--sweep", "max_model_len=8192,16384,32768,40000")
    found = budgets(capsys, *words)
    assert len({result["kv_cache"]["tokens"] for result in found[:3]}) == 1
    fits = [length * TOKEN <= 1.90 * GIB for length in (8192, 16384, 32768)]
    assert [result["outcome"] == "starts" for result in found[:3]] == fits


def test_what_the_formulas_missed_is_carried_over_to_a_change(capsys, run_log):
    words = ("--gpu", "A10G", "--from-log", run_log)
    (before,) = budgets(capsys, *words)
    (after,) = budgets(capsys, *words, "--", "--max-num-seqs", "64")
    fresh = [
        budgets(capsys, "--gpu", "A10G", "--vllm", "0.11.0", *MODEL, "--gpu-memory-utilization", "0.8", *more)[0]
        for more in ((), ("--max-num-seqs", "64"))
    ]
    gained = after["budget"]["items"]["kv_cache"]["value"] - before["budget"]["items"]["kv_cache"]["value"]
    computed = fresh[1]["budget"]["items"]["kv_cache"]["value"] - fresh[0]["budget"]["items"]["kv_cache"]["value"]
    assert gained == pytest.approx(computed, abs=0.02 * GIB)
    assert gained > 0


def test_a_run_that_died_is_a_ground_too(capsys, tmp_path):
    path = tmp_path / "died.log"
    path.write_text(
        RUN.rpartition("INFO:")[0].replace("1.90 GiB", "0.30 GiB")
        + "ValueError: To serve at least one request with the models's max seq len (8192), (0.44 GiB KV cache is "
        "needed, which is larger than the available KV cache memory (0.30 GiB). Based on the available memory, the "
        "estimated maximum model length is 5600.\n",
        encoding="utf-8",
    )
    found = budgets(capsys, "--gpu", "A10G", "--from-log", str(path), "--sweep", "max_model_len=4096,5600,6000,8192")
    assert [result["outcome"] for result in found] == ["starts", "starts", "crashes", "crashes"]


def test_another_release_keeps_what_was_printed_as_a_shift(capsys, run_log):
    found = budgets(capsys, "--gpu", "A10G", "--from-log", run_log, "--vllm", "0.11.0,0.20.0")
    assert [result["subject"]["vllm"] for result in found] == ["0.11.0", "0.20.0"]
    graphs = [result["budget"]["items"]["cuda_graphs"]["inside"] for result in found]
    assert graphs == [False, True]


@pytest.mark.parametrize("text", ["max_model_len", "max_model_len=", "=4", "max_model_len=4x", "max_model_len=,"])
def test_a_sweep_that_cannot_be_read_is_refused(text, capsys):
    assert main(["budget", "--offline", "--sweep", text, *MODEL]) == 2
    assert "--sweep" in capsys.readouterr().err


def test_an_argument_that_no_release_knows_is_refused_with_the_nearest(capsys):
    assert main(["budget", "--offline", "--sweep", "max_model_length=4k", *MODEL]) == 2
    assert "--max-model-len" in capsys.readouterr().err


def test_the_library_says_the_same(capsys, run_log):
    words = ("--gpu", "A10G", "--from-log", run_log, "--sweep", "max_model_len=4096,8k", "--", "--max-num-seqs", "64")
    expected = [result["kv_cache"]["tokens"] for result in budgets(capsys, *words)]
    sweep = {"max_model_len": [4096, "8k"]}
    report = oomedic.budget("--max-num-seqs 64", from_log=run_log, sweep=sweep, gpu="A10G", offline=True)
    assert [result.assessment.kv.tokens for result in report.results] == expected


TINY = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "head_dim": 64,
    "vocab_size": 32000,
    "max_position_embeddings": 8192,
    "torch_dtype": "bfloat16",
}
"""A model of which one token takes 2 layers x 2 x 4 heads x 64 x 2 bytes = 2,048 bytes, as in the real logs."""
PAIRS = [
    ("0.9.2__healthy-sigterm.log", ("--tensor-parallel-size", "2"), "0.9.2__tp2-bound-threads.log"),
    ("0.9.2__tp2-bound-threads.log", ("--tensor-parallel-size", "1"), "0.9.2__healthy-sigterm.log"),
    ("0.9.2__healthy-sigterm.log", ("--kv-cache-dtype", "fp8"), "0.9.2__kv-cache-dtype-fp8.log"),
    ("0.15.1__healthy-sigterm.log", ("--tensor-parallel-size", "2"), "0.15.1__tp2-bound-threads.log"),
    ("0.15.1__healthy-sigterm.log", ("--max-model-len", "4096"), "0.15.1__kv-cache-memory-bytes-small.log"),
    ("0.15.1__kv-cache-memory-bytes-small.log", ("--max-model-len", "1024"), "0.15.1__healthy-sigterm.log"),
    ("0.20.2__tp2-bound-threads.log", ("-tp", "1", "--block-size", "7"), "0.20.2__block-size-invalid.log"),
    ("0.25.1__healthy-sigterm.log", ("--max-model-len", "4096"), "0.25.1__kv-cache-memory-bytes-small.log"),
    ("0.32.0__tp2-bound-threads.log", ("-tp", "1", "--dtype", "float16"), "0.32.0__dtype-fp16.log"),
    ("0.32.0__dtype-fp16.log", ("--tensor-parallel-size", "2"), "0.32.0__tp2-bound-threads.log"),
]


@pytest.mark.parametrize("pair", PAIRS)
def test_one_real_run_foretells_another(pair, real_logs, tmp_path, capsys):
    """Ten pairs of starts of vLLM's own CPU engine that differ in one knob or two: what the second holds at once."""
    log, change, other = pair
    (tmp_path / "config.json").write_text(json.dumps(TINY), encoding="utf-8")
    (tmp_path / "run.log").write_bytes(real_logs[log])
    words = ("--from-log", str(tmp_path / "run.log"), "--model", str(tmp_path / "config.json"), "--", *change)
    (result,) = budgets(capsys, *words)
    printed = re.search(rb"Maximum concurrency for ([\d,]+) tokens per request: ([\d.]+)x", real_logs[other])
    length, concurrency = int(printed[1].replace(b",", b"")), float(printed[2])
    assert result["kv_cache"]["max_concurrency"] == pytest.approx(concurrency, rel=0.005)
    assert result["kv_cache"]["tokens"] == pytest.approx(length * concurrency, rel=0.005)


MEASURED = [
    ("Qwen/Qwen2.5-7B-Instruct", ("14.25", "58.53", 8192), ("--kv-cache-dtype", "fp8"), 2_192_000),
    ("Qwen/Qwen2.5-7B-Instruct", ("14.25", "58.53", 8192), ("--max-model-len", "16384"), 1_095_968),
    ("meta-llama/Llama-3.1-8B-Instruct", ("14.99", "58.11", 8192), ("--max-model-len", "32768"), 476_016),
]
"""Starts on an H100 at 0.95 with vLLM 0.19.0, measured by llm-d-planner (its vllm-v0.19.0-accuracy-report.md)."""


def h100_log(tmp_path, model, weights, pool, length):
    path = tmp_path / "run.log"
    path.write_text(
        "INFO 10-12 09:00:05 [api_server.py:1839] vLLM API server version 0.19.0\n"
        f"INFO 10-12 09:00:05 [utils.py:233] non-default args: {{'model': '{model}', 'max_model_len': {length}, "
        "'gpu_memory_utilization': 0.95}\n"
        f"INFO 10-12 09:00:35 [gpu_model_runner.py:2653] Model loading took {weights} GiB and 3.7 seconds\n"
        f"INFO 10-12 09:00:50 [gpu_worker.py:298] Available KV cache memory: {pool} GiB\n"
        "INFO:     Application startup complete.\n",
        encoding="utf-8",
    )
    return str(path)


@pytest.mark.parametrize("measured", MEASURED)
def test_one_measured_start_foretells_another(measured, tmp_path, capsys):
    model, (weights, pool, length), change, tokens = measured
    log = h100_log(tmp_path, model, weights, pool, length)
    (result,) = budgets(capsys, "--gpu", "H100", "--from-log", log, "--", *change)
    assert result["kv_cache"]["tokens"] == pytest.approx(tokens, rel=0.0005)


def test_weights_of_half_a_model_follow_from_the_whole(tmp_path, capsys):
    log = h100_log(tmp_path, "meta-llama/Llama-3.1-8B-Instruct", "14.99", "58.11", 8192)
    (result,) = budgets(capsys, "--gpu", "H100", "--from-log", log, "--", "--tensor-parallel-size", "2")
    assert result["budget"]["items"]["weights"]["value"] == pytest.approx(7.51 * GIB, rel=0.003)


@pytest.mark.parametrize("size", ["-16", "0"])
def test_a_block_that_the_engine_refuses_is_named(oomedic, size):
    command = ("vllm", "serve", "meta-llama/Llama-3.1-8B-Instruct", "--block-size", size)
    out = oomedic("budget", "--offline", "--gpu", "A10G", "--", *command).out
    assert f"block_size {size} is refused: the engine takes at least 1." in out
    assert "config_validation" in out


def test_a_crash_whose_phase_nothing_shows_is_said_so(oomedic):
    # a lack of memory alone: neither model nor version nor a line of the start
    log = str(Path(__file__).parents[2] / "examples" / "llama-scout-g5" / "previous.log")
    out = oomedic("budget", "--offline", "--from-log", log).out
    assert out.startswith("This configuration does not start; in which phase it dies is not known.\n")
