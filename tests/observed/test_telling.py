import json
from pathlib import Path

import pytest

from oomedic.observed.facts import ContainerState, Happening, NodeState, Observed, PodState, Termination
from oomedic.observed.kube_events import read_events_table
from oomedic.observed.nvidia_smi import read_nvidia_smi
from oomedic.observed.telling import About, log_of_status, told

SAMPLES = Path(__file__).parent / "samples"


def pod(*ends, reason=None, message=None, name="vllm"):
    container = ContainerState(name, "pod.yaml:c", "waiting" if reason else None, reason, message, ends)
    return PodState("vllm-0", "ns", "pod.yaml:status", containers=(container,))


def end(reason, code, message=None):
    return Termination(reason, code, 31, message, "pod.yaml:c.lastState.terminated")


def events(signatures, about, **observed):
    return told(Observed(**observed), about, signatures, 40)


@pytest.mark.parametrize(
    ("ended", "told_as"),
    [
        (("OOMKilled", 137), ("process_killed", "error", True)),
        (("OOMKilled", 1), ("process_killed", "error", True)),
        (("Error", 137), ("process_killed", "error", None)),
        (("Error", 139), ("exit_signal", "wrapper", None)),
        (("Error", 143), ("exit_signal", "wrapper", None)),
        (("Error", 1), ("container_ended", "wrapper", None)),
        (("Completed", 0), ("container_ended", "mark", None)),
    ],
)
def test_an_end_is_told_as_a_log_would_tell_it(signatures, ended, told_as):
    (event,) = events(signatures, About(pod(end(*ended))))
    assert (event.signature, event.kind, event.fields.get("oom")) == told_as
    assert (event.where, event.line) == ("pod.yaml:c.lastState.terminated", 41)


@pytest.mark.parametrize(
    ("reason", "message", "signature"),
    [
        ("ImagePullBackOff", 'Back-off pulling image "vllm/vllm-openai:v9"', "image_pull_failed"),
        ("CreateContainerConfigError", 'secret "hf-token" not found', "container_refused"),
        ("RunContainerError", "no such device", "container_refused"),
    ],
)
def test_a_container_that_cannot_start_says_why(signatures, reason, message, signature):
    found = events(signatures, About(pod(reason=reason, message=message)))
    assert signature in {event.signature for event in found} or found[0].signature == "secret_missing"
    assert all(event.kind == "error" for event in found)


def test_a_crash_loop_alone_says_nothing_new(signatures):
    assert events(signatures, About(pod(reason="CrashLoopBackOff", message="back-off 5m0s"))) == ()


def test_the_kubelets_and_the_schedulers_sentences_are_read_by_the_signatures(signatures):
    happened = read_events_table((SAMPLES / "events.txt").read_text(encoding="utf-8").splitlines(), "e.txt")
    about = About(PodState("vllm-llama-7b9f4c6d5-x2x9z", "inference", "p"))
    found = events(signatures, about, happened=happened)
    assert [(event.signature, event.where) for event in found] == [
        ("probe_failed", "e.txt:3"),
        ("probe_failed", "e.txt:4"),
        ("volume_not_mounted", "e.txt:7"),
    ]
    assert found[1].fields["restarts"] is True


def test_what_a_pod_got_over_is_no_reason_any_more(signatures):
    """A pod that was scheduled and started ends of what came afterwards; another pod's luck says nothing."""
    refused = Happening("Warning", "FailedScheduling", "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.", "e:1")
    unmounted = Happening("Warning", "FailedMount", "MountVolume.SetUp failed for volume: timed out", "e:2")
    placed = Happening("Normal", "Scheduled", "Successfully assigned default/vllm to node1", "e:3")
    started = Happening("Normal", "Started", "Started container vllm", "e:4")

    def told_of(*happened):
        return {event.signature for event in events(signatures, About(), happened=happened)}

    assert told_of(refused, unmounted) == {"gpu_unschedulable", "volume_not_mounted"}
    assert told_of(refused, unmounted, placed, started) == set()
    assert told_of(refused._replace(about="pod/vllm-2"), placed._replace(about="pod/vllm-1")) == {"gpu_unschedulable"}


def test_what_happens_to_other_pods_is_not_ours(signatures):
    happened = read_events_table((SAMPLES / "events.txt").read_text(encoding="utf-8").splitlines(), "e.txt")
    ours = events(signatures, About(PodState("vllm-llama-7b9f4c6d5-x2x9z", "inference", "p")), happened=happened)
    anyones = events(signatures, About(), happened=happened)
    named = events(signatures, About(workload="other"), happened=happened)
    assert "gpu_unschedulable" not in {event.signature for event in ours}
    assert "gpu_unschedulable" in {event.signature for event in anyones}
    assert {event.signature for event in named} == {"gpu_unschedulable"}


def test_a_node_that_ran_out_of_memory_names_its_victim(signatures):
    message = "System OOM encountered, victim process: VLLM::EngineCor, pid: 21345"
    found = events(signatures, About(), happened=(Happening("Warning", "SystemOOM", message, "n.txt:30", "node/n"),))
    assert [(event.signature, event.fields.get("oom")) for event in found] == [("process_killed", True)]


def test_an_evicted_pod_names_what_ran_short(signatures):
    evicted = PodState("p", None, "pod.yaml:status", "Evicted", "The node was low on resource: memory.")
    (event,) = events(signatures, About(evicted))
    assert (event.signature, event.fields["resource"]) == ("host_memory_pressure", "memory")


def test_a_shared_card_is_told_by_the_nodes_labels(signatures):
    node = NodeState("n", "n.txt:3", {"nvidia.com/gpu.replicas": "4", "nvidia.com/gpu.sharing-strategy": "mps"})
    (event,) = events(signatures, About(), nodes=(node,))
    assert (event.signature, event.fields) == ("gpu_shared", {"replicas": 4, "strategy": "mps"})
    whole = NodeState("n", "n.txt:3", {"nvidia.com/gpu.replicas": "1", "nvidia.com/gpu.sharing-strategy": "none"})
    assert events(signatures, About(), nodes=(whole,)) == ()


def test_memory_and_processes_of_the_cards_are_figures(signatures):
    observed = read_nvidia_smi((SAMPLES / "nvidia-smi.txt").read_text(encoding="utf-8"), "smi.txt")
    found = told(observed, About(), signatures)
    assert [event.signature for event in found] == ["gpu_memory_used", "gpu_process", "gpu_driver"]
    assert found[1].fields["process"] == "tritonserver"
    assert found[0].fields["used"].where == "smi.txt:10"


def test_a_driver_that_fails_is_read_as_in_a_log(signatures):
    observed = read_nvidia_smi("Failed to initialize NVML: Driver/library version mismatch\n", "smi.txt")
    assert {event.signature for event in told(observed, About(), signatures)} == {"nvml_failed"}


def test_the_end_of_the_log_that_a_status_keeps_is_read_where_no_log_is_at_hand(signatures):
    message = "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`."
    found = tuple(log_of_status(About(pod(end("Error", 1, message))), signatures))
    assert [event.signature for event in found] == ["no_memory_for_cache_blocks"]
    assert found[0].where.endswith("terminated.message")


def test_a_program_that_is_not_in_the_image_is_told_by_the_runtime_whether_there_is_a_log_or_not(signatures):
    message = 'OCI runtime create failed: exec: "vllm": executable file not found in $PATH: unknown'
    about = About(pod(end("StartError", 128, message)))
    found = events(signatures, about)
    assert [event.signature for event in found][-1] == "container_ended"
    assert len(found) > 1
    assert found[0].kind == "error"
    assert tuple(log_of_status(about, signatures)) == ()


def test_other_containers_of_the_pod_are_not_the_engine(signatures):
    sidecar = ContainerState("proxy", "pod.yaml:x", ends=(end("OOMKilled", 137),))
    both = pod(end("Error", 1))._replace(containers=(*pod(end("Error", 1)).containers, sidecar))
    assert [event.signature for event in events(signatures, About(both, "vllm"))] == ["container_ended"]


def test_secrets_in_sentences_are_hidden(signatures):
    happened = (Happening("Warning", "Odd", "failed with HF_TOKEN=hf_CANARYcanary1234567", "e:1"),)
    (event,) = events(signatures, About(), happened=happened)
    assert "CANARY" not in json.dumps([event.quote, dict(event.fields)])
