"""What every remedy promises, and what each of them names for a log that needs it."""

import importlib
import json
import re
import sys
from pathlib import Path

import pytest

from oomedic import __version__, remedies
from oomedic.pipeline import Library, Log, Question, diagnose_crash
from oomedic.remedy import SAFETIES
from oomedic.sources.builtin import load

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "src/oomedic/remedies"
HEADINGS = ["What it does", "What it costs", "When it does not help"]
CATALOGUE = load()
PAGES = {code: CATALOGUE.page(code) for code in CATALOGUE.codes()}
REMEDIES = {code: page for code, page in PAGES.items() if page["kind"] == "remedy"}
BOUND = {code: importlib.import_module(f"oomedic.remedies.{page['module']}").propose for code, page in REMEDIES.items()}
GIB = 2**30


@pytest.fixture(scope="module")
def library():
    return Library(load(), __version__)


@pytest.fixture
def offers(library):
    """Diagnose lines of a log and return what is offered, by remedy."""

    def ask(*lines, **more):
        question = Question((Log("log", ["\n".join(lines).encode()]),))
        plan = diagnose_crash(question._replace(**more), library).results[0].plan
        return {offer.remedy: offer for offer in (plan.best, *plan.alternatives)} if plan and plan.best else {}

    return ask


def changed(offer):
    return {change.target: change.after for change in offer.changes}


def said(offer):
    """The text of what a person must do."""
    return CATALOGUE.messages()[offer.step.message].format_map(Sizes(offer.step.parameters))


class Sizes(dict):
    def __missing__(self, key):
        return "?"

    def __getitem__(self, key):
        return Size(self.get(key))


class Size:
    def __init__(self, value):
        self.value = value

    def __format__(self, spec):
        return f"{self.value / GIB:.0f} GiB" if spec == "gib" else str(self.value)


# ── the pages ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("code", REMEDIES)
def test_a_page_says_what_it_does_what_it_costs_and_when_it_does_not_help(code):
    assert list(REMEDIES[code]["sections"]) == HEADINGS
    assert all(REMEDIES[code]["sections"].values())


@pytest.mark.parametrize("code", REMEDIES)
def test_every_message_of_a_remedy_is_written_and_used(code):
    source = (FOLDER / f"{REMEDIES[code]['module']}.py").read_text().split('"""', 2)[2]
    written = {name.removeprefix(f"{code}.") for name in CATALOGUE.messages() if name.startswith(f"{code}.")}
    used = set(re.findall(rf"{code}\.([\w-]+)", source))
    assert used <= written
    assert written <= used | {name for name in written if f'"{name}"' in source}


@pytest.mark.parametrize("code", REMEDIES)
def test_a_remedy_costs_something_or_says_that_it_does_not(code):
    assert any(name.startswith(f"{code}.cost") for name in CATALOGUE.messages())
    assert BOUND[code].safety in SAFETIES


@pytest.mark.parametrize("code", REMEDIES)
def test_a_remedy_helps_against_some_cause(code):
    helped = [page["code"] for page in PAGES.values() if page["kind"] == "cause" and code in page["arguments"]["helps"]]
    assert helped


def test_modules_load_by_name():
    assert remedies.load(["enforce_eager"])[0].code == "FIX107"


# ── what is offered for reported crashes ─────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def judged():
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        diagnosis = importlib.import_module("diagnosis")
        cases = importlib.import_module("cases")
        yield diagnosis, list(diagnosis.judged(cases.read(ROOT / "tests/cases/crashes.jsonl"), None))
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))


def test_reported_crashes_are_named_by_their_cause(judged):
    diagnosis, rows = judged
    figures = diagnosis.summary(rows)
    assert figures["share"] >= 0.97
    assert figures["tracebacks"] == 0
    assert (figures["blamed_on_gpu_memory"], figures["gpu_memory_blamed_on_else"]) == (0, 0)


def test_what_is_not_decided_says_what_is_missing_and_is_never_wrong_with_certainty(judged):
    figures = judged[0].summary(judged[1])
    assert figures["undecidable_say_what_is_missing"] == figures["undecidable"]
    assert figures["undecidable_certain"] == 0


def test_a_confirmed_fix_is_among_the_first_offers(judged):
    figures = judged[0].summary(judged[1])
    assert figures["fix_offered"] == figures["fix_recorded"]


def test_nothing_is_offered_that_was_seen_not_to_help(judged):
    diagnosis, rows = judged
    assert [(row["id"], diagnosis.harms(row)) for row in rows if row["decidable"] and diagnosis.harms(row)] == []


def test_no_offer_contradicts_its_own_cause(judged):
    assert [row["id"] for row in judged[1] if row.get("against")] == []


def test_whole_logs_of_the_engine_are_named_by_their_cause_and_its_line():
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        whole, cases = importlib.import_module("whole_logs"), importlib.import_module("cases")
        library = cases.library()
        rows = [whole.judge(case, log, library) for case, log in cases.whole_logs(cases.default("real_logs"))]
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))
    figures = whole.summary(rows)
    assert figures["crashes"]["share"] >= 0.97
    assert figures["healthy"]["share"] == 1
    assert figures["killed"]["share"] == 1
    assert figures["line"]["share"] >= 0.9
    assert (figures["tracebacks"], figures["leaks"]) == (0, 0)


# ── what each names ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_swap_space_within_the_host_is_named(offers):
    found = offers(
        "INFO 01-01 00:00:00 [api_server.py:1] vLLM API server version 0.6.2",
        "ValueError: Too large swap space. 4.00 GiB out of the 4.30 GiB total CPU memory is allocated for the swap.",
    )
    assert changed(found["FIX115"]) == {"swap_space": 1}, "35 % of 4.3 GiB"
    assert "FIX113" not in found


def test_more_swap_space_is_named_where_requests_did_not_fit_into_it(offers):
    found = offers(
        "RuntimeError: Aborted due to the lack of CPU swap space. Please increase the swap space to avoid this error."
    )
    assert changed(found["FIX113"]) == {"swap_space": 8}
    assert "FIX115" not in found


def test_half_precision_is_named_for_a_card_without_bfloat16(offers):
    found = offers(
        "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0. "
        "Your Tesla T4 GPU has compute capability 7.5."
    )
    assert changed(found["FIX202"]) == {"dtype": "half"}


def test_the_other_dtype_is_named_for_a_model_without_float16(offers):
    found = offers("Value error, The model type 'gemma3_text' does not support float16. Reason: Numerical instability.")
    assert changed(found["FIX202"]) == {"dtype": "bfloat16"}


def test_the_argument_goes_where_the_checkpoint_is_not_quantised_so(offers):
    found = offers(
        "INFO [utils.py:1] non-default args: {'model': 'm', 'quantization': 'awq'}",
        "ValueError: Cannot find the config file for awq",
    )
    assert changed(found["FIX202"]) == {"quantization": None}


def test_ranks_that_hold_whole_blocks_are_named(offers):
    """An expert of 1536 columns over 8 ranks has 192 on each; 4 ranks have 384, three blocks of 128."""
    found = offers(
        "INFO [utils.py:1] non-default args: {'model': 'm', 'tensor_parallel_size': 8}",
        "ValueError: The output_size of gate's weight = 192 is not divisible by weight quantization block_n = 128.",
    )
    assert changed(found["FIX304"]) == {"tensor_parallel_size": 4}
    assert changed(found["FIX302"]) == {"tensor_parallel_size": 4, "pipeline_parallel_size": 2}


def test_stages_take_the_gpus_that_ranks_leave(offers):
    found = offers(
        "INFO [utils.py:1] non-default args: {'model': 'm', 'tensor_parallel_size': 8}",
        "ValueError: Total number of attention heads (28) must be divisible by tensor parallel size (8).",
    )
    assert changed(found["FIX304"]) == {"tensor_parallel_size": 4}
    assert changed(found["FIX302"]) == {"tensor_parallel_size": 4, "pipeline_parallel_size": 2}


def test_processes_instead_of_ray_are_named_where_ray_is_missing(offers):
    found = offers(
        "Value error, Failed to import Ray: No module named 'ray'.Please install Ray with `pip install ray`."
    )
    assert changed(found["FIX307"]) == {"distributed_executor_backend": "mp"}


def test_a_rank_that_max_lora_rank_takes_is_named(offers):
    found = offers("ValueError: LoRA rank 48 is greater than max_lora_rank 16.")
    assert changed(found["FIX203"]) == {"max_lora_rank": 64}


def test_foreign_code_is_admitted_only_as_unsafe(offers):
    found = offers(
        "Value error, The repository /m contains custom code which must be executed to correctly load the model."
    )
    assert changed(found["FIX203"]) == {"trust_remote_code": True}
    assert found["FIX203"].safety == "unsafe"


def test_the_driver_s_library_path_is_named_for_error_803_only(offers):
    hidden = (
        "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 803: system has unsupported display driver"
    )
    assert changed(offers(hidden)["FIX414"]) == {"env.LD_LIBRARY_PATH": "/usr/local/nvidia/lib64:/usr/local/nvidia/lib"}
    assert "FIX414" not in offers("RuntimeError: The NVIDIA driver on your system is too old (found version 12020).")


def test_the_fabric_manager_is_named_for_error_802(offers):
    assert "fabricmanager" in said(offers("Error 802: system not yet initialized")["FIX413"])


def test_the_other_engine_is_named_where_a_release_has_both(offers):
    error = "ERROR [core.py:270] query and key must have the same dtype"
    banner = "INFO [api_server.py:1] vLLM API server version {}"
    start = "INFO [core.py:1] Initializing a V1 LLM engine (v0.8.5) with config: model='m'"
    assert changed(offers(banner.format("0.8.5"), start, error)["FIX504"]) == {"env.VLLM_USE_V1": "0"}
    assert "FIX504" not in offers(banner.format("0.11.0"), error)


def test_a_volume_for_shared_memory_grows_with_the_ranks(offers):
    error = "Error while creating shared memory segment /dev/shm/nccl-F9ffgB (size 9637888)"
    arguments = "INFO [utils.py:1] non-default args: {'model': 'm', 'tensor_parallel_size': 8}"
    assert "sizeLimit 8Gi" in said(offers(arguments, error)["FIX401"])
    assert "sizeLimit 2Gi" in said(offers(error)["FIX401"])


def test_the_memory_limit_counts_what_every_rank_keeps_on_the_host(offers):
    """73.55 GiB on each of 2 ranks, 4 GiB of shared memory, 6 GiB of processes: 157 GiB."""
    found = offers(
        "INFO [utils.py:1] non-default args: {'model': 'm', 'tensor_parallel_size': 2}",
        "INFO  [uva.py:65] Total CPU offloaded parameters: 73.55",
        "Out of memory: Killed process (VLLM::Worker_TP)",
    )
    assert "at least 157 GiB" in said(found["FIX402"])
    assert "FIX111" not in found


def test_a_probe_allows_twenty_minutes_at_least(offers):
    found = offers("Normal   Killing    2m    kubelet  Container vllm failed startup probe, will be restarted")
    assert "failureThreshold 120" in said(found["FIX403"]), "120 x 10 s"


def test_a_value_that_the_parser_lists_is_shown(offers):
    found = offers("vllm serve: error: argument --dtype: invalid choice: 'float8' (choose from 'auto', 'half')")
    assert "FIX202" in found


def test_the_model_s_own_limit_is_named_where_the_log_does_not_tell_it(offers):
    found = offers("User-specified max_model_len (8192) is greater than the derived max_model_len")
    assert changed(found["FIX101"]) == {"max_model_len": None}


def test_a_share_near_the_whole_card_is_not_raised_on_a_guess(offers):
    found = offers(
        "INFO [utils.py:1] non-default args: {'model': 'm', 'gpu_memory_utilization': 0.97}",
        "ValueError: No available memory for the cache blocks.",
    )
    assert "FIX102" not in found


def test_manual_steps_say_what_to_do(library):
    """Whatever is offered without a change of settings names a step; what changes settings names them."""
    for page in (page for page in PAGES.values() if page["kind"] == "cause"):
        example = page["sections"]["Example"]
        lines = [line[4:] for line in example.splitlines() if line.startswith("    ") and not line.startswith("    $")]
        plan = diagnose_crash(Question((Log("log", ["\n".join(lines).encode()]),)), library).results[0].plan
        for offer in (plan.best, *plan.alternatives) if plan and plan.best else ():
            manual = all(change.target == "manual" for change in offer.changes)
            assert offer.step is not None or not manual, (page["code"], offer.remedy)


def test_offers_can_be_written_as_json(offers):
    found = offers("ValueError: Cannot find the config file for awq")
    assert json.dumps([[change._asdict() for change in offer.changes] for offer in found.values()])


WORKSPACE = (
    "AssertionError: Workspace is locked but allocation from 'x.py:1:f' requires 12.00 MB, current size is 8.00 MB."
)


@pytest.mark.parametrize(("arguments", "offered"), [("{}", False), ("{'attention_backend': 'FLASHINFER'}", True)])
def test_another_attention_backend_is_offered_for_a_defect_where_one_was_chosen(offers, arguments, offered):
    found = offers(f"INFO [utils.py:1] non-default args: {arguments}", WORKSPACE)
    assert "FIX501" in found
    assert ("FIX503" in found) is offered


SHORT_ON_CPU = (
    "ValueError: To serve at least one request with the model's max seq len (8192), (1.0 GiB KV cache is needed, which "
    "is larger than the available KV cache memory (0.5 GiB). Based on the available memory, the estimated maximum "
    "model length is 4096."
)


def test_the_share_is_not_raised_on_cpus_where_it_sizes_nothing(offers):
    found = offers(
        "INFO [core.py:1] Initializing a V1 LLM engine (v0.19.0) with config: model='m', max_seq_len=8192, "
        "tensor_parallel_size=1, device_config=cpu",
        SHORT_ON_CPU,
    )
    assert "FIX101" in found
    assert "FIX102" not in found
