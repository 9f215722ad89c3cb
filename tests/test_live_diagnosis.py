"""The diagnosis of what a cluster shows, without a cluster: tests/cluster asks a real one."""

import json

import pytest

from oomedic import __version__
from oomedic.errors import UsageError
from oomedic.kube.json_patch import applied
from oomedic.live.workload import ContainerLog, LivePod, LiveWorkload, Refused
from oomedic.live_change import ANNOTATION, chosen, live_change, request, way_back
from oomedic.live_diagnosis import as_written, diagnose_live, edited_object, runs_an_engine
from oomedic.live_edit import Whole
from oomedic.question import Library, Question
from oomedic.sources.builtin import load

# tests/cases/crashes.jsonl, gh-club-3090-35
PRINTED = (
    b"ValueError: To serve at least one request with the model's max seq len (180000), 3.05 GiB KV cache is needed, "
    b"which is larger than the available KV cache memory (2.17 GiB). Based on the available memory, the estimated "
    b"maximum model length is 111456.\n"
)
CONTAINER = {
    "name": "vllm",
    "image": "vllm/vllm-openai:v0.20.0",
    "args": ["--model=Qwen/Qwen3.6-27B", "--max-model-len=180000"],
    "resources": {"limits": {"nvidia.com/gpu": "1"}},
}
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "qwen", "namespace": "llm", "resourceVersion": "7", "uid": "u", "managedFields": [{}]},
    "spec": {"replicas": 1, "template": {"spec": {"containers": [CONTAINER]}}},
    "status": {"replicas": 1},
}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "qwen-1", "namespace": "llm"},
    "spec": {"nodeName": "n", "containers": [CONTAINER]},
    "status": {"containerStatuses": []},
}
NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n", "labels": {"nvidia.com/gpu.product": "NVIDIA-GeForce-RTX-3090"}},
    "status": {"allocatable": {"nvidia.com/gpu": "1"}},
}


@pytest.fixture(scope="module")
def library():
    return Library(load(), __version__)


def live(*pods, **more):
    return LiveWorkload((DEPLOYMENT,), pods or (crashed("qwen-1"),), node=NODE, **more)


def crashed(name):
    return LivePod(
        POD | {"metadata": {"name": name, "namespace": "llm"}}, (), (ContainerLog("vllm", previous=True, text=PRINTED),)
    )


def test_the_node_of_the_pod_names_the_card_and_the_tag_the_release(library):
    (result,) = diagnose_live(live(), Question(), library).results
    assert (result.subject.gpu, result.subject.vllm) == ("NVIDIA GeForce RTX 3090", "0.20.0")
    assert result.diagnosis.findings[0].code == "OOM401"


def test_replicas_with_the_same_cause_are_told_once(library):
    assert len(diagnose_live(live(crashed("a"), crashed("b")), Question(), library).results) == 1


def test_what_could_not_be_seen_is_missing_with_its_rule(library):
    refused = Refused("events", "list", "", "events", "llm")
    (result,) = diagnose_live(live(refused=(refused,)), Question(), library).results
    (missing,) = [each for each in result.diagnosis.missing if each.what.message.startswith("cluster.")]
    assert missing.what.message == "cluster.without-events"
    assert missing.how.parameters == {"rule": refused.rule, "namespace": "llm"}


def test_other_pods_with_gpus_on_the_node_are_named(library):
    (result,) = diagnose_live(live(neighbours=("a/b", "c/d")), Question(), library).results
    assert [note.parameters["names"] for note in result.notes if note.message == "cluster.neighbours"] == [
        ("a/b", "c/d")
    ]


def test_a_pod_is_wanted_when_it_runs_an_engine(library):
    assert runs_an_engine(POD, library.catalogue)
    other = POD | {"spec": {"containers": [{"name": "web", "image": "nginx:1"}]}}
    assert not runs_an_engine(other, library.catalogue)


def test_an_object_is_shown_as_a_person_would_have_written_it():
    assert as_written(DEPLOYMENT) == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "qwen", "namespace": "llm"},
        "spec": DEPLOYMENT["spec"],
    }


@pytest.fixture
def change(library):
    (result,) = diagnose_live(live(), Question(), library).results
    found, workloads = edited_object(live(), library.catalogue)
    return lambda *, spare: live_change(Whole(found, (), workloads), chosen(result.plan, ["FIX101"]), spare=spare)


def test_the_change_of_a_live_object_is_one_tested_place(change):
    assert change(spare=True).operations == (
        {"op": "test", "path": "/spec/template/spec/containers/0/args/1", "value": "--max-model-len=180000"},
        {"op": "replace", "path": "/spec/template/spec/containers/0/args/1", "value": "--max-model-len=110592"},
    )


def test_without_a_spare_gpu_the_old_pod_must_go_first(change):
    after = applied(DEPLOYMENT, change(spare=False).operations)
    assert after["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}
    assert change(spare=False).changes[-1].remedy == "FIX404"


def test_the_record_of_a_change_takes_it_back(change):
    after = applied(DEPLOYMENT, request(DEPLOYMENT, change(spare=False), "2026-01-01T00:00:00Z"))
    assert json.loads(after["metadata"]["annotations"][ANNOTATION])["remedies"] == ["FIX101", "FIX404"]
    back = applied(after, way_back(after))
    assert back["spec"] == DEPLOYMENT["spec"]
    assert back["metadata"]["annotations"] == {}


def test_a_second_change_keeps_the_record_of_the_first(change):
    first = applied(DEPLOYMENT, request(DEPLOYMENT, change(spare=False), "1"))
    before = first["metadata"]["annotations"][ANNOTATION]
    empty = change(spare=False)._replace(operations=(), undo=())
    second = applied(first, request(first, empty, "2"))
    assert json.loads(applied(second, way_back(second))["metadata"]["annotations"][ANNOTATION]) == json.loads(before)


def test_only_what_was_offered_can_be_applied(library):
    (result,) = diagnose_live(live(), Question(), library).results
    with pytest.raises(UsageError, match="remedy-not-offered"):
        chosen(result.plan, ["FIX103"])
    with pytest.raises(UsageError, match="nothing-to-apply"):
        chosen(None, [])


def test_an_object_without_a_record_has_no_way_back():
    with pytest.raises(UsageError, match="nothing-to-undo"):
        way_back(DEPLOYMENT)
