"""Crashes that people reported in public and that are not about GPU memory: each is named, with nothing absurd offered.

``tests/cases/reported_other.jsonl`` holds a few lines of each report, with its address.
"""

import json
from pathlib import Path

import pytest

from oomedic import __version__
from oomedic.pipeline import Library, Log, Question, diagnose_crash
from oomedic.sources.builtin import load

REPORTS = [
    json.loads(line)
    for line in (Path(__file__).parent / "cases/reported_other.jsonl").read_text(encoding="utf-8").splitlines()
]
ESCAPE = "\x1b"


@pytest.fixture(scope="module")
def library():
    return Library(load(), __version__)


def report_of(library, lines):
    return diagnose_crash(Question((Log("log", ["\n".join(lines).encode()]),)), library)


def findings(library, lines):
    return [
        finding
        for result in report_of(library, lines).results
        for finding in (result.diagnosis.findings if result.diagnosis else ())
    ]


def offered(library, lines):
    (result,) = report_of(library, lines).results
    best = () if result.plan.best is None else (result.plan.best,)
    return [offer.remedy for offer in (*best, *result.plan.alternatives)]


def coloured(line):
    return f"{ESCAPE}[0;31m{line}{ESCAPE}[0;0m"


def as_json(line):
    return json.dumps({"log": f"{line}\n", "stream": "stderr", "time": "2026-11-30T12:00:00.123456789Z"})


@pytest.mark.parametrize("case", REPORTS, ids=lambda case: case["source"].removeprefix("https://github.com/"))
def test_a_report_is_named_first(case, library):
    found = findings(library, case["log"])
    assert found, "not recognised"
    assert found[0].code == case["code"]


@pytest.mark.parametrize("wrapped", [coloured, as_json, lambda line: f"2026-11-30T12:00:00.123456789Z stderr F {line}"])
def test_a_report_is_named_alike_in_every_wrapper(wrapped, library):
    for case in REPORTS:
        found = findings(library, [wrapped(line) for line in case["log"]])
        assert [finding.code for finding in found][:1] == [case["code"]], case["source"]


def test_no_report_is_blamed_on_gpu_memory(library):
    for case in REPORTS:
        assert not [finding.code for finding in findings(library, case["log"]) if finding.code.startswith("OOM")]


@pytest.mark.parametrize(
    ("line", "first", "never"),
    [
        ("PermissionError: [Errno 13] Permission denied: '/.cache'", "FIX409", {"FIX203", "FIX408"}),
        ("RuntimeError: CUDA error: no kernel image is available for execution on the device", "FIX407", {"FIX202"}),
        ("TimeoutError: Timed out waiting for engine core processes to start.", "FIX409", {"FIX306", "FIX402"}),
        ("ERROR registry.py:272] Error in inspecting model architecture 'LlamaForCausalLM'", "FIX501", {"FIX204"}),
        (
            'unable to start container process: exec: "vllm serve m": stat vllm serve m: no such file or directory',
            "FIX409",
            {"FIX407", "FIX410"},
        ),
        ("Warning  Failed  1m  kubelet  Error: ErrImagePull", "FIX407", {"FIX410", "FIX409"}),
        ("nixl._bindings.nixlBackendError: NIXL_ERR_BACKEND", "FIX306", {"FIX107"}),
    ],
)
def test_remedies_follow_what_was_said_not_the_code_alone(line, first, never, library):
    offers = offered(library, [line])
    assert offers[0] == first
    assert not never & set(offers)


def test_a_format_that_the_gpu_lacks_is_not_blamed_on_a_cache_that_has_another(library):
    line = "ValueError: type fp8e4nv not supported in this architecture. The supported fp8 dtypes are ('fp8e5',)"
    assert findings(library, [line])[0].says("CFG104.fp8")
    given = "INFO [cli_args.py:325] non-default args: {'model': 'm', 'kv_cache_dtype': 'fp8_e4m3'}"
    assert findings(library, [given, line])[0].says("CFG104.fp8-cache")


class TestAServingEngine:
    READY = "INFO:     Application startup complete."
    DEAD = (
        "(EngineCore_DP0 pid=3) ERROR 11-30 15:49:23 [core.py:710] EngineCore encountered a fatal error.",
        "(EngineCore_DP0 pid=3) ERROR 11-30 15:49:23 [core.py:710] Traceback (most recent call last):",
        "(EngineCore_DP0 pid=3) ERROR 11-30 15:49:23 [core.py:710] AssertionError: 512 != 256",
    )

    def test_that_dies_of_its_own_error_has_a_defect(self, library):
        request = "ValueError: temperature must be non-negative, got -1."
        found = findings(library, [self.READY, request, *self.DEAD])
        assert [finding.code for finding in found] == ["VER102"]
        assert found[0].because[0].parameters["text"] == "512 != 256"

    def test_that_lives_on_after_an_error_has_none(self, library):
        assert findings(library, [self.READY, self.DEAD[2]]) == []

    def test_that_was_stopped_before_has_none(self, library):
        assert findings(library, [self.READY, "INFO:     Shutting down", *self.DEAD]) == []


def test_an_error_right_above_the_wrapper_that_tells_of_it_was_not_survived(library):
    lines = [
        "ERROR 06-25 04:34:01 [core.py:521] AssertionError",
        "ERROR 06-25 04:34:01 [async_llm.py:419] AsyncLLM output_handler failed.",
    ]
    assert [finding.code for finding in findings(library, lines)] == ["VER102"]


def test_a_wait_for_gpus_that_ended_is_no_cause(library):
    waiting = "INFO 09-27 16:47:50 ray_utils.py:183] Waiting for creating a placement group of specs for 20 seconds."
    later = "INFO 09-27 16:48:30 model_runner.py:1014] Starting to load model m..."
    ready = "INFO:     Application startup complete."
    assert findings(library, [waiting])[0].code == "CFG101"
    assert findings(library, [waiting, later, ready]) == []


def test_an_error_of_a_request_is_no_crash_though_the_beginning_of_the_log_is_lost(library):
    stats = "INFO [loggers.py:118] Engine 000: Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 1.0%"
    request = "ValueError: Unknown part type: image_urls"
    assert findings(library, [stats, request, stats]) == []


def test_a_request_that_is_refused_is_no_refused_setting(library):
    assert findings(library, ["ValueError: max_tokens must be at least 1, got 0."]) == []
    assert findings(library, ["ValueError: max_num_seqs must be at least 1, got 0."])[0].code == "CFG111"
