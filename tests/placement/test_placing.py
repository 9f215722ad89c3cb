"""Diagnosis beside node pools: every card that the pod may get is judged, the cheapest machine comes with its way."""

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

import oomedic as package
from oomedic.entrypoints.cli import main

SCHEMA = json.loads((Path(package.__file__).parent / "data/schema/report-v1.json").read_text(encoding="utf-8"))
MANIFESTS = Path(__file__).parents[1] / "manifests"
LLAMA = "meta-llama/Llama-3.3-70B-Instruct"
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: vllm, namespace: inference}}
spec:
  template:
    spec:
{place}      containers:
        - name: vllm
          image: vllm/vllm-openai:v0.10.2
          args: [--model={model}, --max-model-len={length}]
          resources: {{limits: {{nvidia.com/gpu: 1}}}}
"""
G5 = "      nodeSelector: {node.kubernetes.io/instance-type: g5.xlarge}\n"
TOLERATED = "      tolerations: [{key: nvidia.com/gpu, operator: Exists}]\n"


@pytest.fixture
def diagnosed(tmp_path, capsys):
    """Diagnose a Deployment as it stands, and return the one result."""

    def run(*words, model=LLAMA, length=32768, place=G5 + TOLERATED):
        path = tmp_path / "deployment.yaml"
        path.write_text(DEPLOYMENT.format(model=model, length=length, place=place), encoding="utf-8")
        main(["diagnose", "--offline", "--manifest", str(path), *words, "-o", "json"])
        report = json.loads(capsys.readouterr().out)
        jsonschema.validate(report, SCHEMA)
        (result,) = report["results"]
        return result

    return run


KARPENTER = ("--nodepool", str(MANIFESTS / "40-karpenter-gpu-nodepool.yaml"))


def test_weights_that_exceed_the_card_are_offered_the_cheapest_machine_that_holds_them(diagnosed):
    result = diagnosed(*KARPENTER)
    assert result["diagnosis"]["findings"][0]["code"] == "OOM201"
    changes = {change["target"]: change["after"] for change in result["plan"]["changes"]}
    # by hand: 131.4 GiB of weights need two cards of 96 GB; every cheaper machine has less in all (tests/search)
    assert changes["gpu"] == "NVIDIA RTX PRO 6000 Blackwell Server Edition"
    assert changes["tensor_parallel_size"] == 2
    assert "g7e.12xlarge" in result["plan"]["step"]
    assert result["plan"]["after"]["outcome"] == "starts"


def test_the_offer_says_how_to_get_there_and_moves_ranks_and_gpus_together(diagnosed):
    result = diagnosed(*KARPENTER)
    first, *others = result["plan"]["moves"]
    assert (first["way"], [move["way"] for move in others]) == ("selector", ["new-pool"])
    (patch,) = first["patches"]
    assert "+        - --tensor-parallel-size=2" in patch["text"] or "--tensor-parallel-size=2" in patch["text"]
    assert "+          resources: {limits: {nvidia.com/gpu: 2}}" in patch["text"]
    assert "instance-gpu-name" in patch["text"]
    assert result["patch"]["text"] == patch["text"]


def test_a_pool_of_its_own_comes_as_a_file_to_apply(diagnosed):
    new = next(move for move in diagnosed(*KARPENTER)["plan"]["moves"] if move["way"] == "new-pool")
    manifest, workload = new["patches"]
    assert (manifest["format"], workload["format"]) == ("manifest", "diff")
    pool = yaml.safe_load(manifest["text"])
    assert (pool["apiVersion"], pool["kind"]) == ("karpenter.sh/v1", "NodePool")


def test_without_a_pool_the_ways_are_a_new_one_and_a_node_group(diagnosed):
    ways = [move["way"] for move in diagnosed()["plan"]["moves"]]
    assert ways == ["new-pool", "node-group"]


def test_every_card_that_the_pools_allow_is_judged_and_those_that_fail_come_first(diagnosed):
    result = diagnosed(*KARPENTER, model="meta-llama/Llama-3.1-8B-Instruct", length=8192, place=TOLERATED)
    cards = {card["gpu"]: card["outcome"] for card in result["placement"]["cards"]}
    # 15 GiB of weights: more than a T4 has, less than an L4, an A10G or an L40S
    assert cards["Tesla T4"] == "crashes"
    assert (cards["NVIDIA A10G"], cards["NVIDIA L4"], cards["NVIDIA L40S"]) == ("starts", "starts", "starts")
    assert result["placement"]["cards"][0]["outcome"] == "crashes"


def test_a_pool_that_gives_no_node_is_named_with_the_reason(diagnosed, tmp_path):
    pool = (MANIFESTS / "40-karpenter-gpu-nodepool.yaml").read_text(encoding="utf-8")
    (tmp_path / "pool.yaml").write_text(pool.replace("nvidia.com/gpu, value", "team, value"), encoding="utf-8")
    result = diagnosed("--nodepool", str(tmp_path / "pool.yaml"), place="")
    (closed,) = result["placement"]["closed"]
    assert (closed["node_pool"], closed["because"]["message"]) == ("gpu", "placement.taint")


def test_the_usual_taint_of_gpus_is_tolerated_by_who_asks_for_gpus(diagnosed):
    """EKS writes that toleration itself: the admission plugin ExtendedResourceToleration."""
    assert diagnosed(*KARPENTER, place="")["placement"]["closed"] == []


def test_a_cluster_without_that_plugin_says_so_in_its_events(diagnosed, tmp_path):
    said = "did not tolerate taint (taint=nvidia.com/gpu=true:NoSchedule)"
    row = f"2m  Warning  FailedScheduling  pod/vllm-6d9f7-x2k4q  {said}"
    (tmp_path / "events.txt").write_text(f"LAST SEEN  TYPE  REASON  OBJECT  MESSAGE\n{row}\n", encoding="utf-8")
    result = diagnosed(*KARPENTER, "--events", str(tmp_path / "events.txt"), place="")
    (closed,) = result["placement"]["closed"]
    assert (closed["node_pool"], closed["because"]["message"]) == ("gpu", "placement.taint")


def test_pools_in_the_workloads_own_file_count_too(tmp_path, capsys):
    pool = (MANIFESTS / "41-automode-gpu-nodepool.yaml").read_text(encoding="utf-8")
    workload = DEPLOYMENT.format(model="Qwen/Qwen3-8B", length=8192, place=TOLERATED)
    path = tmp_path / "all.yaml"
    path.write_text(f"{workload}---\n{pool}", encoding="utf-8")
    main(["diagnose", "--offline", "--manifest", str(path), "-o", "json"])
    (result,) = json.loads(capsys.readouterr().out)["results"]
    assert [card["gpu"] for card in result["placement"]["cards"]] == ["NVIDIA L40S"]


def test_the_text_shows_verdicts_and_the_first_way(tmp_path, capsys):
    path = tmp_path / "deployment.yaml"
    path.write_text(DEPLOYMENT.format(model=LLAMA, length=32768, place=G5 + TOLERATED), encoding="utf-8")
    main(["diagnose", "--offline", "--manifest", str(path)])
    text = capsys.readouterr().out
    assert "NVIDIA A10G  22.06 GiB  dies (weights_load)  g5.xlarge" in text
    assert "How to get to g7e.12xlarge" in text
    assert "kind: NodePool" in text


def test_a_pool_that_cannot_be_read_is_one_clear_error(tmp_path, capsys):
    path = tmp_path / "pool.yaml"
    path.write_text("kind: NodePool\na: [1", encoding="utf-8")
    assert main(["diagnose", "--offline", "--nodepool", str(path), "--model", LLAMA]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_workload_whose_place_nothing_tells_has_no_placement(diagnosed):
    assert "placement" not in diagnosed(place="")
