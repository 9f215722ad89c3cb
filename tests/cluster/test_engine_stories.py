"""The whole runbook with real parts: the control plane, and a real vLLM that decides what crashes and what answers."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from plane.objects import deployment, eventually, gpu_node
from plane.runner import PLAYS, Runner
from rig.model import write_model
from rig.process import environment

ROOT = Path(__file__).parents[2]
TOO_LONG = 1 << 20


@pytest.fixture(scope="module")
def engine(plane, tmp_path_factory):
    """A real vLLM for CPUs behind the pods of one node; returns the folder of a tiny model."""
    installed = subprocess.run([sys.executable, ROOT / "tools/install_engine.py"], stdout=subprocess.PIPE, check=True)
    vllm = Path(installed.stdout.decode().strip())
    plane.create(gpu_node("engine-1", gpus=1))
    runner = Runner(plane, vllm, environment(vllm), tmp_path_factory.mktemp("engine"))
    yield write_model(tmp_path_factory.mktemp("models") / "tiny")
    runner.stop()
    plane.kubectl("delete", "node", "engine-1")


@pytest.fixture
def crashing(plane, namespace, engine):
    """A Deployment whose engine crash-loops: 1,048,576 tokens do not fit into 1 GiB of KV cache."""
    args = [str(engine), "--served-model-name=tiny", f"--max-model-len={TOO_LONG}", "--enforce-eager"]
    spec = deployment(
        "tiny",
        namespace,
        args,
        PLAYS,
        image="vllm/vllm-openai:v0.32.0",
        nodeSelector={"kubernetes.io/hostname": "engine-1"},
    )
    template = spec["spec"]["template"]
    template["metadata"]["labels"] |= PLAYS
    template["spec"]["containers"][0]["command"] = ["vllm", "serve"]
    template["spec"]["containers"][0]["env"] = [{"name": "VLLM_CPU_KVCACHE_SPACE", "value": "1"}]
    plane.create(spec)
    eventually(lambda: plane.crash_looping(namespace), patience=300)
    yield namespace
    plane.kubectl("delete", "deploy/tiny", "-n", namespace)
    eventually(lambda: not plane.read("pods", "-n", namespace)["items"])


def test_a_crash_loop_becomes_a_server_that_answers(plane, oomedic, crashing, engine):
    words = ("--apply", "--soak", "5s", "--timeout", "5m", "--model", str(engine), "-o", "json")
    status, out, err = oomedic("fix", "deploy/tiny", "-n", crashing, *words)
    result = json.loads(out)["results"][0]
    assert (status, result["verdict"]["state"]) == (0, "healthy"), err
    assert result["diagnosis"]["findings"][0]["code"] == "OOM401"
    (change,) = [each for each in result["plan"]["changes"] if each["target"] == "max_model_len"]
    args = plane.read("deploy/tiny", "-n", crashing)["spec"]["template"]["spec"]["containers"][0]["args"]
    assert f"--max-model-len={change['after']}" in args
    said = {each["message"]: each["parameters"] for each in result["verdict"]["because"]}
    assert said["rollout.kv"]["printed"] == said["rollout.kv"]["predicted"]
    assert said["rollout.answered"]["model"] == "tiny"
    assert said["rollout.answered"]["path"] == "/v1/completions"
    assert said["rollout.metrics"]["preemptions"] == 0
