"""The plane itself: what the other tests in this folder stand on is what it claims to be."""

import json
from pathlib import Path

import pytest
import yaml
from plane.control_plane import KubectlError
from plane.objects import as_container_log, deployment, eventually, gpu_node, logs_of_namespace

MANIFESTS = Path(__file__).parent.parent / "manifests"
INSTALLED = (
    "01-deploy-equals-args-karpenter.yaml",
    "02-deploy-shell-c-flow-args.yaml",
    "04-deploy-dra-args-only-offload.yaml",
    "05-lws-ray-continuations.yaml",
    "07-lws-limits-only.yaml",
    "08-lws-neuron-env-driven.yaml",
    "13-pstack-raycluster-configmap-script.yaml",
    "15-kserve-isvc-huggingface.yaml",
    "16-kserve-runtime-multinode.yaml",
    "17-kserve-llmisvc-additional-args-pd.yaml",
    "19-kserve-llmisvc-baserefs.yaml",
    "20-kserve-llmisvc-managed-dra.yaml",
    "23-aibrix-deployment.yaml",
    "27-rayservice-llm-engine-kwargs.yaml",
    "35-deploy-config-file.yaml",
    "40-karpenter-gpu-nodepool.yaml",
    "41-automode-gpu-nodepool.yaml",
)
"""The samples whose kinds the plane knows."""


def test_the_api_server_tells_the_release_that_was_built(plane):
    assert json.loads(plane.kubectl("version", "-o", "json"))["serverVersion"]["gitVersion"] == "v1.36.3"


def test_a_pod_lands_on_the_gpu_node_and_gets_ready(plane, namespace):
    plane.create(deployment("healthy", namespace, ["--model=m"]))
    pod = eventually(lambda: _ready_pod(plane, namespace))
    assert pod["spec"]["nodeName"] == "gpu-1"


def test_an_engine_crash_loops_with_the_arguments_named_and_not_with_others(plane, namespace, tmp_path):
    (tmp_path / "previous").write_text(as_container_log("ValueError: no room"), encoding="utf-8")
    (tmp_path / "current").write_text(as_container_log("INFO starting"), encoding="utf-8")
    plane.create(logs_of_namespace(namespace, tmp_path / "current", tmp_path / "previous"))
    crashes = {"oomedic.test/crashes-with": "--max-model-len=32768"}
    plane.create(deployment("e", namespace, ["--max-model-len=32768"], crashes, strategy={"type": "Recreate"}))
    pod = eventually(lambda: plane.crash_looping(namespace))
    status = pod["status"]["containerStatuses"][0]
    assert status["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert status["lastState"]["terminated"]["exitCode"] == 1
    assert plane.kubectl("logs", "-n", namespace, pod["metadata"]["name"], "--previous") == "ValueError: no room\n"
    assert plane.kubectl("logs", "-n", namespace, pod["metadata"]["name"]) == "INFO starting\n"
    change = [{"op": "replace", "path": "/spec/template/spec/containers/0/args/0", "value": "--max-model-len=8192"}]
    plane.kubectl("patch", "deployment/e", "-n", namespace, "--type=json", "-p", json.dumps(change))
    assert eventually(lambda: _ready_pod(plane, namespace))


def test_rbac_refuses_who_has_no_role_and_lets_in_who_has_one(plane, namespace):
    with pytest.raises(KubectlError, match='User "nobody" cannot list resource "pods"'):
        plane.read("pods", "-n", namespace, user="nobody")
    plane.kubectl("create", "role", "sees-pods", "-n", namespace, "--verb=list", "--resource=pods")
    plane.kubectl("create", "rolebinding", "b", "-n", namespace, "--role=sees-pods", "--user=reader")
    assert plane.read("pods", "-n", namespace, user="reader")["items"] == []
    with pytest.raises(KubectlError, match="cannot list"):
        plane.read("pods", "-n", "default", user="reader")


def test_strict_validation_refuses_a_field_that_the_api_does_not_have(plane, namespace):
    wrong = deployment("wrong", namespace, [])
    wrong["spec"]["template"]["spec"]["containers"][0]["argz"] = ["--model=m"]
    with pytest.raises(KubectlError, match="argz"):
        plane.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", "-", given=wrong)


def test_a_node_with_four_gpus_takes_what_one_gpu_cannot(plane, namespace):
    plane.create(deployment("wide", namespace, ["--tensor-parallel-size=4"], gpus="4"))
    waiting = eventually(lambda: _unschedulable(plane, namespace))
    assert "Insufficient nvidia.com/gpu" in waiting
    plane.create(gpu_node("gpu-4", instance_type="g5.12xlarge", gpus=4))
    try:
        assert eventually(lambda: _ready_pod(plane, namespace))["spec"]["nodeName"] == "gpu-4"
    finally:
        plane.kubectl("delete", "node", "gpu-4")


@pytest.mark.usefixtures("workload_kinds")
@pytest.mark.parametrize("name", INSTALLED)
def test_the_real_api_takes_the_sample_with_strict_validation(plane, namespace, name):
    for each in yaml.safe_load_all((MANIFESTS / name).read_text(encoding="utf-8")):
        each["metadata"].pop("namespace", None)
        plane.kubectl("apply", "--dry-run=server", "--validate=strict", "-n", namespace, "-f", "-", given=each)


def _pods(plane, namespace):
    return plane.read("pods", "-n", namespace)["items"]


def _ready_pod(plane, namespace):
    for pod in _pods(plane, namespace):
        if any(each["type"] == "Ready" and each["status"] == "True" for each in pod["status"].get("conditions", [])):
            return pod
    return None


def _unschedulable(plane, namespace):
    for pod in _pods(plane, namespace):
        for each in pod["status"].get("conditions", []):
            if each["type"] == "PodScheduled" and each["status"] == "False":
                return each["message"]
    return None
