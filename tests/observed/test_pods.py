import json
from pathlib import Path

import pytest
import yaml

from oomedic.errors import InputError
from oomedic.observed.describe import read_description
from oomedic.observed.objects import read_objects

SAMPLES = Path(__file__).parent / "samples"


@pytest.fixture
def pod_yaml():
    return (SAMPLES / "pod.yaml").read_text(encoding="utf-8")


def the_pod(text, path="pod.yaml"):
    (pod,) = read_objects(text, path).pods
    return pod


def test_a_pods_status_tells_how_its_container_ended_and_where_that_stands(pod_yaml):
    (container,) = the_pod(pod_yaml).containers
    (end,) = container.ends
    assert (end.reason, end.exit_code, end.ran_s) == ("OOMKilled", 137, 31)
    assert end.where == "pod.yaml:status.containerStatuses[0].lastState.terminated"
    assert (container.name, container.restarts, container.state) == ("vllm", 5, "waiting")


def test_json_says_the_same_as_yaml(pod_yaml):
    tree = yaml.safe_load(pod_yaml)
    tree["metadata"].pop("creationTimestamp")
    assert the_pod(json.dumps(tree, default=str), "pod.yaml") == the_pod(pod_yaml)


def test_a_list_of_everything_is_taken_apart_by_kind(pod_yaml):
    listed = {
        "apiVersion": "v1",
        "kind": "List",
        "items": [
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {"a": "b"}}, "status": {}},
            yaml.safe_load(pod_yaml),
            {"apiVersion": "v1", "kind": "Event", "type": "Warning", "reason": "Unhealthy", "message": "m"},
            {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}},
        ],
    }
    observed = read_objects(json.dumps(listed, default=str), "all.json")
    assert [len(part) for part in (observed.nodes, observed.pods, observed.happened)] == [1, 1, 1]
    assert observed.pods[0].containers[0].ends[0].where.startswith("all.json:items[1].status.containerStatuses[0]")


@pytest.mark.parametrize("kind", ["PodList", "List"])
def test_items_without_a_kind_have_that_of_their_list(kind, pod_yaml):
    tree = yaml.safe_load(pod_yaml)
    if kind == "PodList":
        del tree["kind"]
    text = json.dumps({"apiVersion": "v1", "kind": kind, "items": [tree]}, default=str)
    assert len(read_objects(text, "x").pods) == 1


def test_an_evicted_pod_has_a_reason_of_its_own():
    status = {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."}
    pod = the_pod(json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "status": status}))
    assert (pod.reason, pod.message) == ("Evicted", "The node was low on resource: memory.")


def test_a_pod_that_no_node_takes_repeats_the_scheduler():
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes are …"}
    tree = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "status": {"conditions": [condition]}}
    assert the_pod(json.dumps(tree)).unschedulable == "0/3 nodes are …"


@pytest.mark.parametrize(
    "status",
    [{}, {"containerStatuses": None}, {"containerStatuses": [None, "x", {}]}, {"conditions": {"type": "x"}}, None, []],
)
def test_a_status_that_is_not_as_it_should_be_tells_less_and_fails_nothing(status):
    tree = {"apiVersion": "v1", "kind": "Pod", "metadata": None, "spec": 3, "status": status}
    the_pod(json.dumps(tree))


def test_json_that_was_cut_off_is_refused_with_its_place():
    with pytest.raises(InputError) as refused:
        read_objects('{"apiVersion": "v1", "kind": "Pod", ', "pod.json")
    assert refused.value.slug == "json-unreadable"
    assert refused.value.parameters["path"] == "pod.json"


def test_a_description_says_the_same_as_the_object(pod_yaml):
    described = read_description((SAMPLES / "describe-pod.txt").read_text(encoding="utf-8"), "d.txt")
    (pod,), expected = described.observed.pods, the_pod(pod_yaml)
    assert (pod.name, pod.namespace, pod.node, pod.owner) == (
        expected.name,
        expected.namespace,
        expected.node,
        expected.owner,
    )
    (container,), (same,) = pod.containers, expected.containers
    assert (container.name, container.state, container.reason, container.restarts) == (
        same.name,
        same.state,
        same.reason,
        same.restarts,
    )
    assert [end[:3] for end in container.ends] == [end[:3] for end in same.ends]


def test_facts_of_a_description_point_at_its_lines():
    text = (SAMPLES / "describe-pod.txt").read_text(encoding="utf-8")
    (pod,) = read_description(text, "d.txt").observed.pods
    number = next(number for number, line in enumerate(text.splitlines(), 1) if "Last State" in line)
    assert pod.containers[0].ends[0].where == f"d.txt:{number}"


def test_a_described_pod_is_an_object_again_that_the_reader_of_manifests_takes():
    text = (SAMPLES / "describe-pod.txt").read_text(encoding="utf-8")
    (pod,) = read_description(text, "d.txt").pods
    container = pod["spec"]["containers"][0]
    assert container["command"] == ["/bin/sh", "-c"]
    assert len(container["args"]) == 1
    assert container["resources"]["limits"] == {"memory": "16Gi", "nvidia.com/gpu": "1"}
    assert container["env"] == [{"name": "HF_TOKEN", "valueFrom": {}}, {"name": "VLLM_USE_V1", "value": "1"}]
    assert pod["spec"]["volumes"][0]["emptyDir"] == {"medium": "Memory", "sizeLimit": "8Gi"}
    assert container["livenessProbe"] == {
        "initialDelaySeconds": "60",
        "timeoutSeconds": "1",
        "periodSeconds": "10",
        "failureThreshold": "3",
    }


def test_a_message_of_several_lines_hides_nothing_that_follows_it():
    text = (SAMPLES / "describe-pod.txt").read_text(encoding="utf-8")
    log = "INFO 10-12 09:05:12 [x.py:1] vLLM API server version 0.11.0\nValueError: No available memory: x\n  deeper\n"
    quoted = text.replace("      Exit Code:    137", f"      Message:      {log}      Exit Code:    137")
    (pod,) = read_description(quoted, "d.txt").observed.pods
    (end,) = pod.containers[0].ends
    assert (end.exit_code, end.ran_s) == (137, 31)
    assert end.message.splitlines() == [line.strip() for line in log.splitlines()]
    assert pod.containers[0].restarts == 5


def test_several_descriptions_in_one_file_are_taken_apart():
    text = (SAMPLES / "describe-pod.txt").read_text(encoding="utf-8")
    node = (SAMPLES / "describe-node.txt").read_text(encoding="utf-8")
    observed = read_description(f"{text}\n\n{node}", "d.txt").observed
    assert (len(observed.pods), len(observed.nodes)) == (1, 1)


def test_a_described_node_has_labels_gpus_and_pressures():
    observed = read_description((SAMPLES / "describe-node.txt").read_text(encoding="utf-8"), "n.txt").observed
    (node,) = observed.nodes
    assert node.labels["nvidia.com/gpu.product"] == "NVIDIA-A10G-SHARED"
    assert node.labels["beta.kubernetes.io/arch"] == "amd64"
    assert node.allocatable["nvidia.com/gpu"] == "4"
    assert node.pressures == ("MemoryPressure",)
    assert [happening.reason for happening in observed.happened] == ["SystemOOM"]


def test_a_node_object_says_the_same():
    tree = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n", "labels": {"nvidia.com/gpu.product": "NVIDIA-A10G"}},
        "status": {
            "allocatable": {"nvidia.com/gpu": "1"},
            "conditions": [{"type": "MemoryPressure", "status": "True"}, {"type": "Ready", "status": "True"}],
        },
    }
    (node,) = read_objects(json.dumps(tree), "n.json").nodes
    assert (node.labels, node.allocatable, node.pressures) == (
        {"nvidia.com/gpu.product": "NVIDIA-A10G"},
        {"nvidia.com/gpu": "1"},
        ("MemoryPressure",),
    )
