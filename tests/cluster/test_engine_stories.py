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
LENGTH = 1 << 20
SPACE = "VLLM_CPU_KVCACHE_SPACE"
"""GiB for the KV cache: half a GiB holds some 260,000 tokens of this model, 2 GiB as many as 1,048,576."""


@pytest.fixture(scope="module")
def runner(plane, tmp_path_factory):
    """A real vLLM for CPUs behind the pods of one node."""
    installed = subprocess.run([sys.executable, ROOT / "tools/install_engine.py"], stdout=subprocess.PIPE, check=True)
    vllm = Path(installed.stdout.decode().strip())
    plane.create(gpu_node("engine-1", gpus=1))
    runner = Runner(plane, vllm, environment(vllm), tmp_path_factory.mktemp("engine"))
    yield runner
    runner.stop()
    plane.kubectl("delete", "node", "engine-1")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return write_model(tmp_path_factory.mktemp("models") / "tiny", max_position_embeddings=2 * LENGTH)


@pytest.fixture
def crashing(plane, namespace, runner, model):
    """Make a Deployment whose engine crash-loops: so many tokens do not fit into so much KV cache."""

    def made(length, gib):
        runner.give(**{SPACE: gib})
        args = [str(model), "--served-model-name=tiny", f"--max-model-len={length}", "--enforce-eager"]
        selector = {"kubernetes.io/hostname": "engine-1"}
        spec = deployment("tiny", namespace, args, PLAYS, image="vllm/vllm-openai:v0.32.0", nodeSelector=selector)
        template = spec["spec"]["template"]
        template["metadata"]["labels"] |= PLAYS
        template["spec"]["containers"][0]["command"] = ["vllm", "serve"]
        plane.create(spec)
        eventually(lambda: plane.crash_looping(namespace), patience=300)
        return namespace

    yield made
    plane.kubectl("delete", "deploy/tiny", "-n", namespace)
    eventually(lambda: not plane.read("pods", "-n", namespace)["items"])


def test_a_crash_loop_becomes_a_server_that_answers(plane, oomedic, crashing, model):
    namespace = crashing(LENGTH, gib="1")
    words = ("--apply", "--soak", "5s", "--timeout", "5m", "--model", str(model), "-o", "json")
    status, out, err = oomedic("fix", "deploy/tiny", "-n", namespace, *words)
    result = json.loads(out)["results"][0]
    assert (status, result["verdict"]["state"]) == (0, "healthy"), err
    assert result["diagnosis"]["findings"][0]["code"] == "OOM401"
    (change,) = [each for each in result["plan"]["changes"] if each["target"] == "max_model_len"]
    args = plane.read("deploy/tiny", "-n", namespace)["spec"]["template"]["spec"]["containers"][0]["args"]
    assert f"--max-model-len={change['after']}" in args
    said = {each["message"]: each["parameters"] for each in result["verdict"]["because"]}
    assert said["rollout.kv"]["printed"] == said["rollout.kv"]["predicted"]
    assert said["rollout.answered"]["model"] == "tiny"
    assert said["rollout.answered"]["path"] == "/v1/completions"
    assert said["rollout.metrics"]["preemptions"] == 0


def test_a_fix_with_which_the_engine_still_crashes_is_taken_back(plane, oomedic, crashing, model, runner):
    namespace = crashing(2 * LENGTH, gib="2")
    before = plane.spec(namespace)
    # the next pod finds less memory than the one whose log was read: what was reckoned from that does not fit
    runner.give(**{SPACE: "1"})
    words = ("--apply", "--soak", "5s", "--timeout", "5m", "--model", str(model), "-o", "json")
    status, out, err = oomedic("fix", "deploy/tiny", "-n", namespace, *words)
    first, second = json.loads(out)["results"]
    assert (status, first["verdict"]["state"]) == (4, "still-oom"), err
    assert "rollout.rolled-back" in [each["message"] for each in first["verdict"]["because"]]
    assert plane.spec(namespace) == before
    (tried,) = [each["after"] for each in first["plan"]["changes"] if each["target"] == "max_model_len"]
    found = second["diagnosis"]["findings"][0]
    assert found["code"] == "OOM401"
    # what the engine itself said of the second start: the length that was tried, and half the room
    assert second["subject"]["arguments"]["max_model_len"]["value"] == tried
    assert second["plan"]["changes"][0]["after"] <= tried // 2 + 256
