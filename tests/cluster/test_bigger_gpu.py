"""Weights that exceed the card: the planned nodes, made by real Karpenter from our catalogue's instance types."""

import json
from pathlib import Path

import pytest
import yaml
from plane.case import QUICK
from plane.instance_types import gpu_names
from plane.objects import as_container_log, eventually, gpu_node, logs_of_namespace, ports_of_namespace
from test_karpenter import node_pool

EXAMPLE = Path(__file__).parents[2] / "examples/llama-scout-g5"


@pytest.fixture
def exceeding(plane, karpenter, namespace, tmp_path, engine_port):
    """The runbook's Deployment: it needs several cards, and its node has one."""
    (tmp_path / "previous").write_text(as_container_log((EXAMPLE / "previous.log").read_text()), encoding="utf-8")
    (tmp_path / "current").write_text(as_container_log("INFO starting"), encoding="utf-8")
    karpenter.create(
        logs_of_namespace(namespace, tmp_path / "current", tmp_path / "previous"),
        ports_of_namespace(namespace, engine_port),
        gpu_node("g5-1", gpus=1),
    )
    made = yaml.safe_load((EXAMPLE / "deployment.yaml").read_text(encoding="utf-8"))
    made["metadata"]["namespace"] = namespace
    template = made["spec"]["template"]
    template["metadata"]["annotations"] = {"oomedic.test/crashes-below-gpus": "4"}
    template["spec"]["containers"][0]["image"] = "vllm/vllm-openai:v0.20.0"
    karpenter.create(made)
    eventually(lambda: plane.crash_looping(namespace))
    yield namespace
    plane.kubectl("delete", "deploy/vllm-llama-scout", "-n", namespace)
    plane.kubectl("delete", "node", "g5-1")
    plane.kubectl("delete", "nodepools", "--all", "--wait=false")


@pytest.mark.parametrize("existing", [True, False], ids=["in a pool that has them", "in a pool of its own"])
def test_karpenter_brings_the_planned_node_and_the_pod_lands_there(plane, oomedic, exceeding, existing):
    namespace = exceeding
    pool = node_pool("gpus", "a10g", limit="64")
    cards, counts = pool["spec"]["template"]["spec"]["requirements"][:2]
    cards["values"] = gpu_names() if existing else ["a10g"]
    counts["values"] = ["1", "2", "4", "8"] if existing else ["1"]
    plane.create(pool)
    words = ("--remedy", "FIX303", "--apply", "-o", "json", *QUICK)
    status, out, err = oomedic("fix", "deploy/vllm-llama-scout", "-n", namespace, *words)
    result = json.loads(out)["results"][0]
    assert (status, result["verdict"]["state"]) == (0, "healthy"), err
    (pod,) = [pod for pod in plane.read("pods", "-n", namespace)["items"] if "deletionTimestamp" not in pod["metadata"]]
    node = plane.read("node", pod["spec"]["nodeName"])
    offers = [result["plan"], *result["plan"]["alternatives"]]
    planned = next(offer for offer in offers if offer["changes"] and offer["changes"][0]["remedy"] == "FIX303")
    assert node["metadata"]["labels"]["karpenter.sh/nodepool"] == ("gpus" if existing else "vllm-llama-scout-gpu")
    assert node["metadata"]["labels"]["node.kubernetes.io/instance-type"] in json.dumps(planned) + err
    if not existing:
        assert oomedic("undo", "deploy/vllm-llama-scout", "-n", namespace)[0] == 0
        assert [each["metadata"]["name"] for each in plane.read("nodepools")["items"]] == ["gpus"]
