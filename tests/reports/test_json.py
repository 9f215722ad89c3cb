"""The JSON is a promise: the shipped schema says which keys there are, and every report keeps to it."""

import json
from pathlib import Path

import jsonschema
import pytest

import oomedic as package

DATA = Path(package.__file__).parent / "data"
SCHEMA = json.loads((DATA / "schema/report-v1.json").read_text(encoding="utf-8"))
EXAMPLE = Path(__file__).parents[2] / "examples/llama-scout-g5"
MANIFESTS = Path(__file__).parents[1] / "manifests"

TORCH = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 21.98 GiB"
)
KV = (
    "ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB KV cache is needed, "
    "which is larger than the available KV cache memory (4.51 GiB). Based on the available memory, the estimated "
    "maximum model length is 36928. Try increasing `gpu_memory_utilization` or decreasing `max_model_len`."
)
LLAMA = ("--", "vllm", "serve", "meta-llama/Llama-3.1-8B-Instruct")
BUDGET = {"total", "free_at_start", "requested", "left", "encoder", "items"}
FIGURE = {"value", "low", "high", "origin", "where"}
ITEMS = ["weights", "non_torch", "activation", "cuda_graphs", "kv_cache"]

REPORTS = {
    "the runbook, torch": ("diagnose", "--logs", EXAMPLE / "previous.log", "--manifest", EXAMPLE / "deployment.yaml"),
    "the runbook, cache": (
        *("diagnose", "--logs", EXAMPLE / "previous-kv-cache.log"),
        *("--manifest", EXAMPLE / "deployment.yaml"),
    ),
    "a manifest alone": ("diagnose", "--manifest", EXAMPLE / "deployment.yaml"),
    "a command alone": ("diagnose", "--gpu", "A10G", "--vllm", "0.10.2", *LLAMA),
    "a budget": ("budget", "--gpu", "A10G", "--vllm", "0.10.2", *LLAMA, "--max-model-len", "8192"),
    "several budgets": ("budget", "--gpu", "A10G,H100", "--vllm", "0.8.5,0.20.0", *LLAMA),
    "weights alone": ("budget", "--weights", "9GB", "--gpu-memory", "24GB"),
    "nothing known": ("budget",),
    "heads that do not divide": ("budget", "--gpu", "A10G", "--vllm", "0.20.0", *LLAMA, "-tp", "3"),
    "an inspection": ("inspect", MANIFESTS / "23-aibrix-deployment.yaml"),
    "a folder": ("inspect", MANIFESTS / "34-kustomize"),
}
LOGS = {
    "nothing": "",
    "no crash": "INFO 01-01 00:00:00 [api_server.py:1] vLLM API server version 0.10.2\nhello\n",
    "an unplaced error": TORCH,
    "a short cache": KV,
    "two lives": f"vLLM API server version 0.10.2\n{KV}\nvLLM API server version 0.10.2\n{KV}\n",
}


@pytest.fixture
def report(oomedic):
    def made(*words, stdin=""):
        ran = oomedic(*words[:1], "-o", "json", *words[1:], stdin=stdin)
        assert ran.err == ""
        found = json.loads(ran.out)
        jsonschema.Draft202012Validator(SCHEMA).validate(found)
        return found

    return made


def test_the_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_keeps_to_the_schema(report, name):
    assert report(*REPORTS[name])["results"]


@pytest.mark.parametrize("name", LOGS)
def test_a_report_of_a_log_keeps_to_the_schema(report, name):
    assert report("diagnose", "-", "--gpu", "A10G", stdin=LOGS[name])["results"]


def test_the_head_says_which_json_which_program_and_which_facts(report):
    found = report("budget")
    assert found["schema"] == "oomedic/v1"
    assert found["versions"]["tool"] == package.__version__
    assert found["versions"]["catalogue"]


def test_a_budget_has_every_promised_key(report):
    (result,) = report(*REPORTS["a budget"])["results"]
    assert set(result["budget"]) == BUDGET
    assert list(result["budget"]["items"]) == ITEMS
    for name in ("total", "free_at_start", "requested", "left"):
        assert set(result["budget"][name]) == FIGURE
    for item in result["budget"]["items"].values():
        assert set(item) == FIGURE | {"inside"}
    assert set(result["kv_cache"]) == {
        *("tokens", "blocks", "block_size", "max_concurrency"),
        *("needed_for_one_request", "estimated_max_model_len"),
    }
    assert (result["outcome"], result["outcome_origin"], result["phase"]) == ("starts", "computed", None)


def test_sizes_are_whole_bytes_with_a_band_around_them(report):
    (result,) = report(*REPORTS["a budget"])["results"]
    for figure in _figures(result):
        assert all(type(figure[key]) is int for key in ("value", "low", "high"))
        assert figure["low"] <= figure["value"] <= figure["high"]
        assert figure["origin"] in {"printed", "computed", "catalogued", "assumed"}
        assert figure["where"]


def _figures(value):
    if isinstance(value, dict):
        if value.keys() >= FIGURE:
            yield value
        for inside in value.values():
            yield from _figures(inside)
    elif isinstance(value, list):
        for inside in value:
            yield from _figures(inside)


def test_one_result_for_each_gpu_and_version(report):
    subjects = [result["subject"] for result in report(*REPORTS["several budgets"])["results"]]
    assert [(subject["gpu"], subject["vllm"]) for subject in subjects] == [
        *(("NVIDIA A10G", "0.8.5"), ("NVIDIA A10G", "0.20.0")),
        *(("NVIDIA H100 80GB HBM3", "0.8.5"), ("NVIDIA H100 80GB HBM3", "0.20.0")),
    ]


def test_a_budget_that_cannot_be_computed_is_null_and_says_why(report):
    (result,) = report("budget")["results"]
    assert result["budget"] is None
    assert [claim["message"] for claim in result["budget_missing"]] == ["budget.missing.gpu", "budget.missing.weights"]


def test_the_subject_tells_what_was_given_and_where(report):
    (result,) = report(*REPORTS["a budget"])["results"]
    model = result["subject"]["arguments"]["model"]
    assert model == {"value": "meta-llama/Llama-3.1-8B-Instruct", "where": "command line"}


def test_a_diagnosis_has_every_promised_key(report):
    (result,) = report(*REPORTS["the runbook, cache"])["results"]
    (finding, *_) = result["diagnosis"]["findings"]
    assert {"code", "name", "confidence", "because"} <= finding.keys()
    assert all(set(claim) == {"message", "parameters", "says", "where"} for claim in finding["because"])
    assert all(set(missing) == {"what", "how"} for missing in result["diagnosis"]["missing"])
    plan = result["plan"]
    assert {"changes", "safety", "cost", "after", "alternatives", "rejected"} <= plan.keys()
    for offer in (plan, *plan["alternatives"]):
        assert {"changes", "safety", "cost", "after"} <= offer.keys()
        assert all(set(change) == {"target", "before", "after", "remedy"} for change in offer["changes"])
    assert all(set(rejected) == {"remedy", "because"} for rejected in plan["rejected"])
    assert set(result["patch"]) >= {"format", "text"}


def test_the_workload_of_a_manifest_has_every_promised_key(report):
    (result,) = report(*REPORTS["an inspection"])["results"]
    workload = result["workload"]
    assert {
        *("unit", "supported", "because", "model", "engine", "engine_version", "arguments", "gpu_resource"),
        *("gpus_per_pod", "gpus_total", "node_selector", "shm", "probes", "strategy", "edit_paths"),
    } <= workload.keys()
    assert workload["arguments"]["max_model_len"] == {"value": 12288, "where": "command[10]"}
    assert set(workload["edit_paths"]["max_model_len"]) >= {"file", "object", "pointer", "inner"}


def test_findings_of_a_phase_name_it(report):
    (result,) = report("diagnose", "-", stdin=KV)["results"]
    assert (result["outcome"], result["outcome_origin"], result["phase"]) == ("crashes", "printed", "kv_check")
