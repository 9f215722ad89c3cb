import pytest
import yaml

from oomedic.arguments.reader import ArgumentTable
from oomedic.edits.argument import edit
from oomedic.manifest import read_workloads

ROWS = [
    {"name": "model", "flags": ["--model"], "kind": "text"},
    {"name": "max_model_len", "flags": ["--max-model-len"], "kind": "count"},
]
TABLE = ArgumentTable.of(ROWS)
POD = {
    "containers": [
        {
            "name": "engine",
            "image": "vllm/vllm-openai:v0.11.0",
            "args": ["org/m", "--max-model-len=8192"],
            "resources": {"limits": {"nvidia.com/gpu": 2}},
        }
    ]
}
TEMPLATE = {"template": {"spec": POD}}


def manifest(kind, spec, api_version="apps/v1"):
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "chat", "namespace": "llm"}, "spec": spec}


def read(*objects):
    return read_workloads(yaml.safe_dump_all(objects), "f.yaml", TABLE)


@pytest.mark.parametrize(
    ("found", "pointer", "replicas", "total"),
    [
        (manifest("Deployment", TEMPLATE | {"replicas": 3}), "/spec/template/spec", 3, 6),
        (manifest("Deployment", TEMPLATE | {"replicas": 0}), "/spec/template/spec", 0, 0),
        (manifest("StatefulSet", TEMPLATE), "/spec/template/spec", 1, 2),
        (manifest("ReplicaSet", TEMPLATE), "/spec/template/spec", 1, 2),
        (manifest("DaemonSet", TEMPLATE), "/spec/template/spec", None, None),
        (manifest("Job", TEMPLATE | {"parallelism": 2}, "batch/v1"), "/spec/template/spec", 2, 4),
        (
            manifest("CronJob", {"jobTemplate": {"spec": TEMPLATE}}, "batch/v1"),
            "/spec/jobTemplate/spec/template/spec",
            1,
            2,
        ),
        (manifest("Pod", POD, "v1"), "/spec", 1, 2),
    ],
)
def test_every_controller_holds_an_engine_at_its_own_place(found, pointer, replicas, total):
    (workload,) = read(found)
    assert workload.unit == f"{found['kind']}/chat#engine"
    assert (workload.kind, workload.name, workload.namespace) == (found["kind"], "chat", "llm")
    assert workload.edit_paths["max_model_len"].pointer == f"{pointer}/containers/0/args/1"
    assert workload.edit_paths["nvidia.com/gpu"].pointer == f"{pointer}/containers/0/resources/limits/nvidia.com~1gpu"
    assert (workload.replicas, workload.gpus_per_pod, workload.gpus_total) == (replicas, 2, total)


@pytest.mark.parametrize(
    ("kind", "spec", "expected"),
    [
        ("Deployment", {}, ("RollingUpdate", "25%", "25%", True)),
        ("Deployment", {"strategy": {"type": "Recreate"}}, ("Recreate", None, None, False)),
        (
            "Deployment",
            {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}},
            ("RollingUpdate", "0", "1", False),
        ),
        ("Deployment", {"strategy": {"rollingUpdate": {"maxSurge": 1}}}, ("RollingUpdate", "1", "25%", False)),
        ("DaemonSet", {}, ("RollingUpdate", "0", "1", True)),
        ("StatefulSet", {"updateStrategy": {"type": "OnDelete"}}, ("OnDelete", None, None, False)),
        ("StatefulSet", {}, ("RollingUpdate", None, None, True)),
    ],
)
def test_the_rollout_strategy_is_read_with_its_defaults(kind, spec, expected):
    (workload,) = read(manifest(kind, TEMPLATE | spec))
    assert workload.strategy == expected


def test_a_pod_and_a_job_have_no_strategy():
    assert [
        workload.strategy for workload in read(manifest("Pod", POD, "v1"), manifest("Job", TEMPLATE, "batch/v1"))
    ] == [
        None,
        None,
    ]


def test_the_objects_of_a_list_and_of_several_documents_are_all_read():
    pod, deployment = manifest("Pod", POD, "v1"), manifest("Deployment", TEMPLATE)
    found = read(
        {"apiVersion": "v1", "kind": "List", "items": [pod, {"kind": "Service"}, deployment]}, None, deployment
    )
    assert [(workload.unit, workload.place[:2]) for workload in found] == [
        ("Pod/chat#engine", (0, 0)),
        ("Deployment/chat#engine", (0, 2)),
        ("Deployment/chat#engine", (2, None)),
    ]


def test_an_item_of_a_list_is_edited_alone():
    pods = [manifest("Pod", POD, "v1"), manifest("Pod", POD, "v1")]
    text = yaml.dump({"apiVersion": "v1", "kind": "PodList", "items": pods}, Dumper=_NoAliases)
    edited = edit(text, read_workloads(text, "f.yaml", TABLE)[1], "max_model_len", 4096, TABLE)
    assert [w.arguments.given["max_model_len"].value for w in read_workloads(edited, "f.yaml", TABLE)] == [8192, 4096]


class _NoAliases(yaml.SafeDumper):
    def ignore_aliases(self, _data):
        return True


def test_the_same_kind_of_another_group_is_another_thing():
    (found,) = read(manifest("Deployment", TEMPLATE, "example.com/v1"))
    assert (found.unit, found.strategy) == ("Deployment/chat#engine", None)


def test_an_engine_without_a_name_is_named_by_its_index():
    spec = {"template": {"spec": {"containers": [{"image": "vllm/vllm-openai:v0.11.0", "args": ["org/m"]}]}}}
    assert read(manifest("Deployment", spec))[0].unit == "Deployment/chat#0"
