"""Bigger GPUs for an engine as its manifest says: copies of data parallelism, processors, data types."""

import json

import pytest

from oomedic.entrypoints.cli import main

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  nodeSelector: SELECTOR
  containers:
    - name: e
      image: vllm/vllm-openai:v0.11.0
      args: [Qwen/Qwen2.5-14B-Instruct, --max-model-len=8192MORE]
      resources: {limits: {nvidia.com/gpu: 2}}
"""
T4 = "{node.kubernetes.io/instance-type: g4dn.12xlarge}"
A10G = "{node.kubernetes.io/instance-type: g5.12xlarge}"


@pytest.fixture
def offered(tmp_path, capsys):
    """Every offer of another machine: its type, its size of a tensor-parallel group, and what it says."""

    def ask(selector, more=""):
        path = tmp_path / "pod.yaml"
        path.write_text(POD.replace("SELECTOR", selector).replace("MORE", more), encoding="utf-8")
        main(["diagnose", "--manifest", str(path), "--offline", "-o", "json"])
        (result,) = json.loads(capsys.readouterr().out)["results"]
        plan = result["plan"]
        every = [each for each in (plan, *plan["alternatives"]) if each["changes"]]
        offers = [each for each in every if each["changes"][0]["remedy"] == "FIX303"]
        sizes = [{each["target"]: each["after"] for each in offer["changes"]} for offer in offers]
        return {
            offer["step"].split()[0]: (size["tensor_parallel_size"], offer["cost"][0]["says"])
            for offer, size in zip(offers, sizes, strict=True)
        }

    return ask


def test_one_copy_of_the_model_takes_the_cheapest_single_card(offered):
    """27.5 GiB of weights and 1.5 GiB of cache on the 44 GiB of an L40S."""
    size, cost = offered(A10G)["g6e.xlarge"]
    assert size == 1
    assert "request 1 GPU." in cost


def test_two_copies_need_a_card_each(offered):
    found = offered(A10G, ", --data-parallel-size=2")
    assert "g6e.xlarge" not in found
    size, cost = found["g6.12xlarge"]  # 4 L4: two for each copy
    assert size == 2
    assert "request 4 GPUs." in cost


@pytest.mark.parametrize("more", ["", ", --dtype=half"])
def test_a_card_that_only_other_processors_have_is_none(offered, more):
    """g5g is what EC2 has of the T4G: arm64."""
    found = offered(T4, more)
    assert found
    assert not any(name.startswith("g5g") for name in found)


def test_a_card_without_bfloat16_is_none_for_what_runs_in_it(offered):
    assert not any(name.startswith(("g4dn", "p3", "g5g")) for name in offered(A10G))
