import json
import re
import textwrap
import time
import tomllib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oomedic.errors import InputError
from oomedic.figure import Figure
from oomedic.logs.signature import check, match, signature_of
from oomedic.logs.signatures import Signatures
from oomedic.logs.text import lines
from oomedic.units import GIB, parse_size

ROWS = [
    {"name": path.stem} | tomllib.loads(path.read_text(encoding="utf-8"))
    for path in sorted((Path(__file__).parents[2] / "src/oomedic/data/signatures").glob("*.toml"))
]
SAMPLES = [
    pytest.param(row["name"], sample, id=f"{row['name']}-{n}") for row in ROWS for n, sample in enumerate(row["sample"])
]
REJECTS = [
    pytest.param(row["name"], reject["line"], id=f"{row['name']}-{n}")
    for row in ROWS
    for n, reject in enumerate(row.get("reject", []))
]
ANY_LOG = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def plain(field):
    """What was read, sizes as bytes."""
    if isinstance(field, tuple) and not isinstance(field, Figure):
        return [{name: plain(content) for name, content in entry.items()} for entry in field]
    return field.value if isinstance(field, Figure) else field


def expected(read, kind):
    """What a sample says is read; sizes are written there as text."""
    if isinstance(read, list):
        return [{name: expected(content, kind[name]) for name, content in entry.items()} for entry in read]
    return parse_size(read) if isinstance(kind, str) and kind in {"GiB", "size", "bytes"} else read


def said(row, sample):
    kinds = (
        dict(row["fields"]) | {each["into"]: row["fields"] for each in row.get("each", [])} if "fields" in row else {}
    )
    return {name: expected(read, kinds[name]) for name, read in sample.get("reads", {}).items()}


# ── the files ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("row", ROWS, ids=[row["name"] for row in ROWS])
def test_a_signature_is_complete(row):
    check(row)
    assert re.fullmatch(r"[a-z][a-z0-9_]+", row["name"])
    assert row["says"].endswith((".", ")"))
    assert row["sample"]
    assert set(row) <= {
        *("name", "says", "kind", "phase", "reached", "since", "until", "contains", "pattern", "source"),
        *("fields", "more", "each", "sample", "reject"),
    }


@pytest.mark.parametrize(("name", "sample"), SAMPLES)
def test_a_sample_is_read_as_it_says_and_claimed_by_no_other(events_of, name, sample):
    row = next(row for row in ROWS if row["name"] == name)
    events = events_of(sample["line"])
    (event,) = [event for event in events if event.signature == name]
    assert {field: plain(content) for field, content in event.fields.items()} == said(row, sample)
    assert {event.signature for event in events} - {name} == set(sample.get("also", []))
    assert (event.kind, event.phase, event.reached) == (row["kind"], row["phase"], row.get("reached"))


@pytest.mark.parametrize(("name", "line"), REJECTS)
def test_a_reject_stays_silent(events_of, name, line):
    assert name not in {event.signature for event in events_of(line)}


WRAPPERS = {
    "docker": lambda line: json.dumps({"log": line + "\n", "stream": "stderr", "time": "2025-01-01T00:00:00Z"}),
    "collector": lambda line: json.dumps({"level": "info", "message": line}, ensure_ascii=False),
    "runtime": lambda line: f"2025-05-01T10:00:00.123456789Z stderr F {line}",
    "kubectl": lambda line: f"[pod/qwen-7b9f4-xyz/vllm] {line}",
    "timestamps": lambda line: f"2025-05-01T10:00:00.123456789Z {line}",
    "compose": lambda line: f"qwen3-1  | {line}",
    "colours": lambda line: f"\x1b[1;36m{line}\x1b[0;0m",
    "windows": lambda line: f"{line}\r",
}


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_every_sample_is_read_in_every_wrapper(events_of, wrapper):
    for row in ROWS:
        for sample in row["sample"]:
            line = sample["line"]
            if line.startswith("{") or "\r" in line:
                continue
            read = [event for event in events_of(WRAPPERS[wrapper](line)) if event.signature == row["name"]]
            assert [{name: plain(content) for name, content in event.fields.items()} for event in read] == [
                said(row, sample)
            ], (row["name"], line)


def test_patterns_are_linear():
    pieces = ["9", "a", " ", "1.", "(1", "a.", "'", "A "]
    for row in ROWS:
        signature = signature_of(row)
        size = 66_000 if row["kind"] == "setting" else 18_000
        for text in [row["sample"][0]["line"], *row["contains"]]:
            for piece in pieces:
                filler = piece * (size // len(piece))
                start = time.process_time()
                match(signature, text + filler)
                match(signature, filler[:4_000] + text + filler)
                assert time.process_time() - start < 0.5, (row["name"], piece)


@pytest.mark.parametrize(
    ("change", "slug"),
    [
        ({"kind": ""}, "signature-incomplete"),
        ({"kind": "fault"}, "signature-word-unknown"),
        ({"phase": "starting"}, "signature-word-unknown"),
        ({"fields": {"seconds": "duration"}}, "signature-word-unknown"),
        ({"contains": ['say "no"']}, "signature-literal-unfit"),
        ({"contains": ["ab"]}, "signature-literal-unfit"),
        ({"pattern": "took (?P<seconds>"}, "signature-pattern-unreadable"),
        ({"pattern": r"took (?P<minutes>\d+)"}, "signature-fields-differ"),
    ],
)
def test_a_signature_that_cannot_work_is_refused(change, slug):
    row = {
        "name": "mine",
        "kind": "mark",
        "phase": "other",
        "contains": ["my line took"],
        "pattern": r"took (?P<seconds>\d+)",
        "fields": {"seconds": "int"},
    }
    check(row)
    with pytest.raises(InputError) as refused:
        check(row | change)
    assert refused.value.slug == slug


# ── events ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_event_tells_where_it_stands_and_who_printed_it(events_of):
    (event,) = events_of(
        "\n\n(Worker_TP7_EP7 pid=7475) INFO 10-23 08:04:01 [w.py:298] Available KV cache memory: 35.68 GiB\n"
    )
    assert (event.signature, event.line, event.rank) == ("available_kv_cache", 3, "Worker_TP7_EP7")
    assert event.quote == "Available KV cache memory: 35.68 GiB"


def test_a_printed_size_has_half_of_its_last_digit_as_band(events_of):
    (event,) = events_of("Available KV cache memory: 2.17 GiB")
    size = event.fields["kv_cache"]
    assert size.high - size.low == pytest.approx(GIB / 100, abs=2)
    assert (size.origin, size.where) == ("printed", "log:1")


def test_gb_of_old_releases_means_gib(events_of):
    (event,) = events_of("INFO 02-26 09:54:02 model_runner.py:1115] Loading model weights took 5.2032 GB")
    assert event.fields["weights"].value == round(5.2032 * GIB)


def test_a_quote_is_short_and_holds_the_match_only(events_of):
    prompt = "a secret prompt of a user " * 40
    (event,) = events_of(f"{prompt} CUDA error: out of memory {prompt}")
    assert event.quote == "CUDA error: out of memory"
    long = events_of("(APIServer pid=1) INFO 11-30 15:29:41 [u.py:1] non-default args: {'model': '" + "x" * 5000 + "'}")
    assert len(long[0].quote) == 300
    assert len(long[0].fields["arguments"]) > 5000


def test_the_end_of_a_traceback_is_reported_only_where_no_other_signature_knows_it(events_of):
    assert [event.signature for event in events_of("ZeroDivisionError: division by zero")] == ["python_error"]
    assert [event.signature for event in events_of("ValueError: No available memory for the cache blocks.")] == [
        "no_memory_for_cache_blocks"
    ]


def test_a_wrapper_does_not_hide_the_message_behind_it(events_of):
    line = (
        "(VllmWorkerProcess pid=21) ERROR 01-12 08:36:38 multiproc_worker_utils.py:233] Exception in worker "
        "VllmWorkerProcess while processing method initialize_cache: The model's max seq len (131072) is larger than "
        "the maximum number of tokens that can be stored in KV cache (86432). Try increasing"
    )
    assert {event.signature: event.kind for event in events_of(line)} == {
        "worker_method_failed": "wrapper",
        "kv_cache_too_small_v0": "error",
    }


def test_of_a_progress_bar_the_last_state_is_reported(events_of):
    bar = "\r".join(f"Capturing CUDA graphs (decode, FULL): {n}%|x| {n}/35 [00:01<00:00, 1.0it/s]" for n in range(36))
    (event,) = events_of(bar)
    assert (event.fields["done"], event.reached) == (35, "graph_capture")


def test_a_traceback_that_json_packed_into_one_line_is_read_line_by_line(events_of):
    packed = json.dumps(
        {
            "message": "Traceback (most recent call last):\n"
            '  File "/app/vllm/v1/worker/gpu_worker.py", line 1, in load_model\n    x()\n'
            '  File "/app/vllm/model_executor/models/llama.py", line 2, in load_weights\n    y()\n'
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of "
            "23.65 GiB of which 1.12 GiB is free."
        }
    )
    assert [event.signature for event in events_of(packed)] == [
        *("traceback_start", "weights_frame", "model_frame", "weights_frame", "torch_out_of_memory")
    ]


def test_statistics_of_days_are_told_a_thousand_times_and_the_last_before_an_error(signatures):
    stats = (
        "(APIServer pid=1) INFO 10-25 13:20:00 [loggers.py:127] Engine 000: Running: {} reqs, Waiting: 1 reqs, "
        "GPU KV cache usage: 12.5%, Prefix cache hit rate: 0.0%\n"
    )
    log = "".join(stats.format(n) for n in range(20_000)) + "RuntimeError: CUDA error: out of memory\n"
    events = tuple(signatures.read([log.encode()]))
    assert len(events) < 1_010
    assert [event.signature for event in events[-2:]] == ["runtime_stats", "cuda_driver_out_of_memory"]
    assert events[-2].fields["running"] == 19_999
    assert [event.line for event in events] == sorted(event.line for event in events)


# ── messages that a console broke ────────────────────────────────────────────────────────────────────────────────────

RUNBOOK_OOM = """\
torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has
a total capacity of 23.65 GiB of which 1.12 GiB is free. Including non-PyTorch memory,
this process has 22.53 GiB memory in use.

Or the vLLM-specific variant:
"""
RUNBOOK_KV = """\
ValueError: The model's max seq len (32768) is larger than the maximum number of tokens
that can be stored in KV cache (8192). Try increasing `gpu_memory_utilization` or
decreasing `max_model_len` when initializing the engine.
"""


def test_the_runbook_s_out_of_memory_message_is_read_whole(events_of):
    (event,) = events_of("Logs reveal the OOM:\n\n" + RUNBOOK_OOM)
    assert event.line == 3
    assert {name: plain(content) for name, content in event.fields.items()} == {
        "api": "CUDA",
        "tried": 2 * GIB,
        "gpu": 0,
        "total": round(23.65 * GIB),
        "free": round(1.12 * GIB),
        "in_use": round(22.53 * GIB),
    }


def test_the_runbook_s_kv_cache_message_is_read_whole(events_of):
    (event,) = events_of(RUNBOOK_KV)
    assert (event.signature, event.fields) == ("kv_cache_too_small_v0", {"max_model_len": 32768, "tokens": 8192})


LONG = {
    "torch_out_of_memory": "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total "
    "capacity of 23.65 GiB of which 1.12 GiB is free. Process 7668 has 28.14 GiB memory in use. Including non-PyTorch "
    "memory, this process has 22.53 GiB memory in use. Of the allocated memory 12.54 GiB is allocated by PyTorch, and "
    "149.96 MiB is reserved by PyTorch but unallocated.",
    "kv_cache_too_small": "(EngineCore_DP0 pid=19336) ERROR 11-30 15:37:43 [core.py:718] ValueError: To serve at least "
    "one request with the models's max seq len (1048576), (2.00 GiB KV cache is needed, which is larger than the "
    "available KV cache memory (1.00 GiB). Based on the available memory, the estimated maximum model length is "
    "524288. Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.",
    "free_memory_below_request": "ValueError: Free memory on device cuda:0 (48.48/178.35 GiB) on startup is less than "
    "desired GPU memory utilization (0.7, 124.85 GiB). Decrease GPU memory utilization or reduce GPU memory used by "
    "other processes.",
    "max_model_len_above_model": "ValueError: User-specified max_model_len (131072) is greater than the derived "
    "max_model_len (max_position_embeddings=32768.0 or model_max_length=None in model's config.json).",
    "warm_up_out_of_memory": "RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy "
    "requests. Please try lowering `max_num_seqs` or `gpu_memory_utilization` when initializing the engine.",
}


@pytest.mark.parametrize("name", LONG)
@pytest.mark.parametrize("width", [76, 80, 90, 100, 120, 132, 160, 200])
@pytest.mark.parametrize("within_words", [False, True])
def test_a_broken_message_is_read_as_if_it_were_whole(events_of, name, width, within_words):
    whole = LONG[name]
    broken = textwrap.wrap(whole, width, break_long_words=False, break_on_hyphens=False)
    if within_words:
        broken = [whole[start : start + width] for start in range(0, len(whole), width)]
    log = "\n".join(["before", *broken, "(Worker pid=1) INFO 11-30 15:37:43 [x.py:1] something else"])
    (event,) = [event for event in events_of(log) if event.signature == name]
    (wanted,) = [event for event in events_of(whole) if event.signature == name]
    assert event.line in {2, 3}, "the first words of a message tell nothing"

    def fields(event):
        return {field: plain(content) for field, content in event.fields.items()}

    assert fields(event) == fields(wanted)


def test_a_command_over_several_lines_is_one_command(events_of):
    log = "$ vllm serve \\\n    Qwen/Qwen3-8B --api-key abc \\\n    --max-model-len 4096\nINFO:     Started\n"
    (event,) = events_of(log)
    assert event.fields["command"] == "vllm serve Qwen/Qwen3-8B --api-key *** --max-model-len 4096"


def test_what_the_container_runtime_cut_is_put_together_again(events_of):
    cut = "2025-05-01T10:00:00.1Z stderr {} {}\n"
    log = cut.format("P", "Available KV cache mem") + cut.format("F", "ory: 35.68 GiB") + cut.format("F", "and more")
    assert not events_of(log)
    log = cut.format("P", "Available KV cache memory: 35.") + cut.format("F", "68 GiB") + cut.format("F", "and more")
    (event,) = events_of(log)
    assert event.fields["kv_cache"].value == round(35.68 * GIB)


def test_an_argument_stands_on_the_line_before_what_is_wrong_with_it(events_of):
    log = (
        "(APIServer pid=1) pydantic_core._pydantic_core.ValidationError: 1 validation error for CacheConfig\n"
        "(APIServer pid=1) gpu_memory_utilization\n"
        "(APIServer pid=1)   Input should be less than or equal to 1 [type=less_than_equal, input_value=1.5, "
        "input_type=float]\n"
    )
    refused = next(event for event in events_of(log) if event.signature == "config_value_refused")
    assert (refused.fields["argument"], refused.fields["value"]) == ("gpu_memory_utilization", "1.5")


# ── real logs and cases ──────────────────────────────────────────────────────────────────────────────────────────────

PRINTED = {
    "kv_tokens": ("kv_cache_size", "tokens"),
    "max_concurrency": ("max_concurrency", "max_concurrency"),
    "needed_gib": ("kv_cache_too_small", "needed"),
    "estimated_max_len": ("kv_cache_too_small", "estimated_max_model_len"),
}
BEFORE_BANNER = {2: "refused by the parser of arguments", 1: ("chat-template", "tool-choice")}


def test_the_version_of_every_real_log_is_found(real_logs, real_log_index, signatures):
    for row in real_log_index:
        versions = {
            event.fields["version"]
            for event in signatures.read([real_logs[row["file"]]])
            if event.signature in {"api_server_version", "version_banner", "engine_start"}
        }
        silent = row["exit_code"] == 2 or any(scenario in row["file"] for scenario in BEFORE_BANNER[1])
        assert versions == {row["vllm"]} or (silent and not versions), row["file"]


def test_the_figures_of_every_real_log_are_read(real_logs, real_log_index, signatures):
    for row in real_log_index:
        events = tuple(signatures.read([real_logs[row["file"]]]))
        for key, (name, field) in PRINTED.items():
            read = {plain(event.fields[field]) for event in events if event.signature == name and field in event.fields}
            if key in row["predicted"]:
                unit = GIB if key.endswith("_gib") else 1
                assert row["predicted"][key] in {round(figure / unit, 2) for figure in read}, (row["file"], key, read)


def test_the_line_that_tells_the_cause_of_a_real_crash_is_an_event(real_logs, real_log_index, signatures):
    for row in real_log_index:
        if row["outcome"] != "crashes":
            continue
        at_cause = [
            event
            for event in signatures.read([real_logs[row["file"]]])
            if event.kind in {"error", "wrapper", "generic"} and 0 <= row["first_cause_line"] - event.line <= 1
        ]
        assert at_cause, row["file"]
        if all(code.startswith(("OOM", "CFG10", "CFG116", "POD")) for code in row["expected_codes"]):
            assert any(event.kind in {"error", "generic"} for event in at_cause), row["file"]


def test_every_crash_that_can_be_decided_has_the_error_that_decides_it(crash_cases, events_of):
    silent = [
        case["id"]
        for case in crash_cases
        if case["decidable"] and not any(event.kind == "error" for event in events_of("\n".join(case["log_excerpt"])))
    ]
    assert silent == ["gh-vllm-13882"], "whose figures tell it: blocks 0, KV cache -1.05 GiB"


def test_figures_of_crashes_are_read_as_the_cases_state_them(crash_cases, start_cases, events_of):
    stated = {
        "model_load_gib": ("model_loaded", "weights"),
        "available_kv_gib": ("available_kv_cache", "kv_cache"),
        "kv_needed_gib": ("kv_cache_too_small", "needed"),
        "oom_tried_gib": ("torch_out_of_memory", "tried"),
        "oom_free_gib": ("torch_out_of_memory", "free"),
    }
    checked = 0
    for case in [*crash_cases, *start_cases]:
        events = events_of("\n".join(case["log_excerpt"]))
        for key, (name, field) in stated.items():
            read = [event.fields[field] for event in events if event.signature == name and field in event.fields]
            value = case["observed"].get(key)
            if value is not None and read:
                checked += 1
                assert any(figure.value / GIB == pytest.approx(value, abs=0.006) for figure in read), (case["id"], key)
    assert checked > 250


def test_a_log_in_utf_16_is_read(real_logs, signatures):
    raw = real_logs["0.32.0__kv-too-small-1m-default-len.log"]
    events = tuple(signatures.read([raw]))
    assert tuple(signatures.read([raw.decode().encode("utf-16")])) == events


@ANY_LOG
@given(st.data())
def test_the_size_of_the_chunks_changes_nothing(real_logs, signatures, data):
    raw = real_logs[data.draw(st.sampled_from(sorted(real_logs)))]
    size = data.draw(st.integers(7, 20_000))
    chunks = [raw[start : start + size] for start in range(0, len(raw), size)]
    assert tuple(signatures.read(chunks)) == tuple(signatures.read([raw]))


@ANY_LOG
@given(st.data())
def test_a_log_that_was_cut_anywhere_is_read(real_logs, signatures, data):
    raw = real_logs[data.draw(st.sampled_from(sorted(real_logs)))]
    start, end = sorted(data.draw(st.tuples(st.integers(0, len(raw)), st.integers(0, len(raw)))))
    tuple(signatures.read([raw[start:end]]))


@ANY_LOG
@given(st.data())
def test_two_logs_that_ran_into_each_other_are_read(real_logs, signatures, data):
    names = data.draw(st.lists(st.sampled_from(sorted(real_logs)), min_size=2, max_size=2))
    first, second = (real_logs[name].split(b"\n") for name in names)
    mixed = [line for pair in zip(first, second, strict=False) for line in pair]
    glue = data.draw(st.sampled_from([b"\n", b"\r", b"", b"\x00", b"\n\n"]))
    tuple(signatures.read([glue.join(mixed)]))


@given(st.binary(max_size=2000))
def test_any_bytes_are_read(signatures, raw):
    tuple(signatures.read([raw]))


@given(st.data())
def test_any_bytes_among_literals_are_read(signatures, data):
    literals = [literal.encode() for row in ROWS for literal in row["contains"]]
    parts = data.draw(st.lists(st.sampled_from(literals) | st.binary(max_size=40), max_size=12))
    glue = data.draw(st.sampled_from([b"", b" ", b"\n", b"\r"]))
    tuple(signatures.read([glue.join(parts)]))


def test_a_line_of_fifty_megabytes_does_no_harm(signatures):
    filler = b'{"prompt": "' + b"x" * (1 << 20) + b'"}'
    start = time.perf_counter()
    events = tuple(
        signatures.read(
            [*[filler] * 25, b" CUDA error: out of memory ", *[filler] * 25, b"\nAvailable KV cache memory: 1.0 GiB\n"]
        )
    )
    assert [(event.signature, event.line) for event in events] == [
        ("cuda_driver_out_of_memory", 1),
        ("available_kv_cache", 2),
    ]
    assert time.perf_counter() - start < 5


def test_signatures_of_a_user_are_read_beside_the_shipped_ones():
    mine = {"name": "mine", "kind": "error", "phase": "runtime", "contains": ["frobnicator jammed"]}
    events = tuple(
        Signatures([*ROWS, mine]).read([b"(Worker pid=1) ERROR 11-30 15:37:43 [x.py:1] frobnicator jammed\n"])
    )
    assert [(event.signature, event.phase) for event in events] == [("mine", "runtime")]


def test_a_literal_alone_has_to_end_a_word():
    named = Signatures([{"name": "mine", "kind": "frame", "phase": "other", "contains": [", in load"]}])
    assert tuple(named.read([b'  File "x.py", line 1, in load\n']))
    assert not tuple(named.read([b'  File "x.py", line 1, in load_all\n']))


def test_lines_of_samples_are_not_changed_by_reading():
    for row in ROWS:
        for sample in row["sample"]:
            assert lines(sample["line"].encode())
