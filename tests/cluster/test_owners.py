"""Pods of LeaderWorkerSet and KServe: the change goes into the object that a person wrote, through its real API.

The plane has these APIs but not their controllers, so that the tests make the pods, owned as the controllers would.
"""

import json
import threading

import pytest
from plane.case import ARGS, CARD, CRASHES, LENGTH, PREVIOUS, QUICK
from plane.objects import as_container_log, eventually, gpu_node, logs_of_namespace, ports_of_namespace

CONTAINER = {"image": "vllm/vllm-openai:v0.20.0", "args": ARGS, "resources": {"limits": {"nvidia.com/gpu": "1"}}}
LEADER_WORKER_SET = {
    "apiVersion": "leaderworkerset.x-k8s.io/v1",
    "kind": "LeaderWorkerSet",
    "spec": {
        "replicas": 1,
        "leaderWorkerTemplate": {
            "size": 1,
            "workerTemplate": {"spec": {"containers": [{"name": "vllm", **CONTAINER, "command": ["vllm", "serve"]}]}},
        },
    },
}
INFERENCE_SERVICE = {
    "apiVersion": "serving.kserve.io/v1beta1",
    "kind": "InferenceService",
    "spec": {"predictor": {"containers": [{"name": "kserve-container", **CONTAINER, "command": ["vllm", "serve"]}]}},
}
SHAPES = [
    (LEADER_WORKER_SET, "/spec/leaderWorkerTemplate/workerTemplate/spec/containers/0/args/1"),
    (INFERENCE_SERVICE, "/spec/predictor/containers/0/args/1"),
]


@pytest.fixture
def owned(workload_kinds, namespace, tmp_path):
    """Make an object and a crash-looping pod that its controller would have made; return its name for oomedic."""
    plane = workload_kinds
    plane.create(gpu_node(f"node-{namespace}", CARD, instance_type="workstation"))
    (tmp_path / "previous").write_text(as_container_log(PREVIOUS), encoding="utf-8")
    (tmp_path / "current").write_text(as_container_log("INFO starting"), encoding="utf-8")
    plane.create(logs_of_namespace(namespace, tmp_path / "current", tmp_path / "previous"))

    def make(shape):
        plane.create({**shape, "metadata": {"name": "qwen", "namespace": namespace}})
        name = f"{shape['kind'].lower()}.{shape['apiVersion'].partition('/')[0]}/qwen"
        found = plane.read(name, "-n", namespace)
        owner = {"apiVersion": shape["apiVersion"], "kind": shape["kind"], "name": "qwen", "controller": True}
        spec = shape["spec"].get("predictor") or shape["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]
        metadata = {
            "name": "qwen-0",
            "namespace": namespace,
            "annotations": CRASHES,
            "ownerReferences": [owner | {"uid": found["metadata"]["uid"]}],
        }
        pinned = {**spec, "nodeSelector": {"kubernetes.io/hostname": f"node-{namespace}"}}
        plane.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pinned})
        eventually(lambda: plane.crash_looping(namespace))
        return name, namespace

    yield make
    plane.kubectl("delete", "node", f"node-{namespace}")


@pytest.mark.parametrize(
    ("shape", "pointer"), SHAPES, ids=lambda given: given["kind"] if isinstance(given, dict) else ""
)
def test_the_change_goes_into_the_object_that_was_written(plane, oomedic, owned, shape, pointer):
    name, namespace = owned(shape)
    status, out, err = oomedic("diagnose", "qwen-0", "-n", namespace, "-o", "json")
    assert status == 1, err
    assert json.loads(out)["results"][0]["subject"]["kind"] == shape["kind"]
    # nobody is there to make new pods of it: the watch ends without them, and the change is kept to be looked at
    words = ("--apply", "--no-rollback", "--timeout", "3s", "-o", "json")
    status, out, err = oomedic("fix", "qwen-0", "-n", namespace, *words)
    result = json.loads(out)["results"][0]
    assert (status, result["verdict"]["state"]) == (4, "timeout"), err
    assert pointer in [each["path"] for each in json.loads(result["patch"]["text"])]
    assert f"--max-model-len={LENGTH}" in json.dumps(plane.read(name, "-n", namespace)["spec"])
    assert oomedic("undo", name, "-n", namespace)[0] == 0
    assert "--max-model-len=180000" in json.dumps(plane.read(name, "-n", namespace)["spec"])


@pytest.mark.parametrize("shape", [LEADER_WORKER_SET, INFERENCE_SERVICE], ids=lambda shape: shape["kind"])
def test_the_pods_that_its_controller_makes_of_the_change_are_watched(plane, oomedic, owned, shape, engine_port):
    name, namespace = owned(shape)
    plane.create(ports_of_namespace(namespace, engine_port))
    controller = threading.Thread(target=_replace, args=(plane, name, namespace), daemon=True)
    controller.start()
    status, out, err = oomedic("fix", "qwen-0", "-n", namespace, "--apply", "-o", "json", *QUICK)
    controller.join(10)
    assert (status, json.loads(out)["results"][0]["verdict"]["state"]) == (0, "healthy"), err


def _replace(plane, name, namespace):
    """Do what the controller would: when the object has other arguments, make a new pod with them."""
    eventually(lambda: f"--max-model-len={LENGTH}" in json.dumps(plane.read(name, "-n", namespace)["spec"]))
    found = plane.read("pod/qwen-0", "-n", namespace)
    kept = {key: found["metadata"][key] for key in ("namespace", "annotations", "ownerReferences")}
    (container,) = found["spec"]["containers"]
    spec = {key: found["spec"][key] for key in ("nodeSelector",)}
    spec["containers"] = [{**CONTAINER, "name": container["name"], "args": [ARGS[0], f"--max-model-len={LENGTH}"]}]
    plane.kubectl("delete", "pod/qwen-0", "-n", namespace)
    plane.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "qwen-1", **kept}, "spec": spec})
