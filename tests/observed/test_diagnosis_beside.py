"""What pods, events and GPUs add to a diagnosis: through the library's own door."""

from pathlib import Path

import pytest

import oomedic
from oomedic.units import GIB, MIB

SAMPLES = Path(__file__).parent / "samples"
START = """INFO 10-12 09:05:12 [api_server.py:1839] vLLM API server version 0.11.0
INFO 10-12 09:05:13 [core.py:77] Initializing a V1 LLM engine (v0.11.0) with config: model='Qwen/Qwen2.5-7B-Instruct'
INFO 10-12 09:05:20 [gpu_model_runner.py:2602] Starting to load model Qwen/Qwen2.5-7B-Instruct...
"""


def first(**given):
    return oomedic.diagnose(**given, offline=True).results[0]


def codes(result):
    return [finding.code for finding in result.diagnosis.findings]


@pytest.mark.parametrize(
    "given",
    [
        {"pod": SAMPLES / "pod.yaml"},
        {"describe": SAMPLES / "describe-pod.txt"},
        {"describe": SAMPLES / "describe-pod.txt", "logs": START},
        {"pod": SAMPLES / "pod.yaml", "logs": START},
        {"pod": SAMPLES / "describe-pod.txt"},  # the content counts, not the option
    ],
)
def test_a_pod_killed_for_its_memory_is_host_memory_whatever_told_it(given):
    result = first(**given)
    assert codes(result)[:1] == ["HOST101"]
    assert result.diagnosis.findings[0].confidence == "certain"
    assert (result.outcome, result.phase) == ("crashes", "host_oom")


def test_a_pod_is_also_the_manifest_of_its_engine_but_not_a_place_for_changes():
    result = first(pod=SAMPLES / "pod.yaml")
    assert result.workload.unit == "Pod/vllm-llama-7b9f4c6d5-x2x9z#vllm"
    assert result.assessment.config.max_model_len == 8192
    assert (result.subject.vllm, result.subject.gpu) == ("0.11.0", "NVIDIA A10G")
    assert result.patch is None


def test_the_remarks_say_how_the_container_lives():
    notes = {note.message: note for note in first(pod=SAMPLES / "pod.yaml").notes}
    assert notes["observed.restarts"].parameters["restarts"] == 5
    end = notes["observed.end-after"]
    assert (end.parameters["reason"], end.parameters["seconds"]) == ("OOMKilled", 31)
    assert end.where.endswith("status.containerStatuses[0].lastState.terminated")


def test_nvidia_smi_names_the_card_and_what_others_hold():
    result = first(nvidia_smi=SAMPLES / "nvidia-smi.txt", command="vllm serve Qwen/Qwen2.5-7B-Instruct", vllm="0.11.0")
    assert result.subject.gpu == "NVIDIA A10G"
    free = result.budget.free_at_start.value
    assert free < result.budget.total.value - 12004 * MIB
    assert (result.outcome, result.phase) == ("crashes", "free_memory_check")


def test_dcgm_says_the_same():
    smi, dcgm = (
        first(nvidia_smi=SAMPLES / name, command="vllm serve Qwen/Qwen2.5-7B-Instruct", vllm="0.11.0")
        for name in ("nvidia-smi.txt", "dcgm.txt")
    )
    assert smi.budget.free_at_start.value == dcgm.budget.free_at_start.value


def test_of_more_cards_than_the_pod_has_the_least_used_are_taken():
    command = "vllm serve Qwen/Qwen2.5-7B-Instruct"
    one = first(nvidia_smi=SAMPLES / "nvidia-smi-q.txt", command=command, vllm="0.11.0")
    both = first(nvidia_smi=SAMPLES / "nvidia-smi-q.txt", command=f"{command} -tp 2", vllm="0.11.0")
    assert (one.outcome, one.subject.gpu) == ("starts", "NVIDIA L40S")
    assert (both.outcome, both.phase) == ("crashes", "free_memory_check")


def test_an_engine_that_serves_is_no_neighbour_of_itself():
    rows = (SAMPLES / "nvidia-smi.txt").read_text(encoding="utf-8").replace("tritonserver", "VLLM::Engine")
    log = START + "INFO:     Application startup complete.\n"
    alone = first(logs=log, nvidia_smi=rows, gpu="A10G")
    assert alone.budget.free_at_start.value > 20 * GIB


def test_what_the_log_says_about_free_memory_outranks_nvidia_smi():
    line = (
        "ValueError: Free memory on device (9.57/22.05 GiB) on startup is less than desired GPU memory utilization "
        "(0.9, 19.84 GiB)."
    )
    result = first(logs=START + line, nvidia_smi=SAMPLES / "nvidia-smi.txt")
    assert result.budget.free_at_start.origin == "printed"


def test_an_unknown_card_is_sized_by_its_driver():
    rows = (SAMPLES / "nvidia-smi.txt").read_text(encoding="utf-8").replace("NVIDIA A10G", "NVIDIA ZZ9")
    result = first(
        nvidia_smi=rows.replace("12004", "    0"), command="vllm serve Qwen/Qwen2.5-7B-Instruct", vllm="0.11.0"
    )
    total = result.budget.total
    assert total.low < total.value < total.high == 23028 * MIB


def test_labels_of_the_node_name_the_card():
    node = SAMPLES / "describe-node.txt"
    assert first(describe=node, command="vllm serve Qwen/Qwen2.5-7B-Instruct").subject.gpu == "NVIDIA A10G"


def test_facts_belong_to_the_last_life_that_failed():
    failed = START + "ValueError: No available memory for the cache blocks.\n"
    report = oomedic.diagnose(logs=[failed, START], pod=SAMPLES / "pod.yaml", offline=True)
    assert [bool(result.notes) for result in report.results] == [True, False]


def test_a_secret_of_a_pod_reaches_no_result():
    for given in ({"pod": SAMPLES / "pod.yaml"}, {"describe": SAMPLES / "describe-pod.txt"}):
        assert "CANARY" not in repr(oomedic.diagnose(**given, offline=True))
