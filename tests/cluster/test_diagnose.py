"""`oomedic diagnose` on a real control plane, as a person calls it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from plane.case import ARGS, CARD, CRASHES, PREVIOUS
from plane.objects import as_container_log, deployment, eventually, gpu_node, logs_of_namespace

ROOT = Path(__file__).parents[2]
ROLE = ROOT / "deploy/rbac/diagnose.yaml"
SELECTOR = {"kubernetes.io/hostname": "rtx-3090"}


@pytest.fixture(scope="module", autouse=True)
def node_of_the_case(plane):
    """A node with the card of the case; three, for the pods of earlier tests are still on their way out."""
    plane.create(gpu_node("rtx-3090", CARD, instance_type="workstation", gpus=3))
    yield
    plane.kubectl("delete", "node", "rtx-3090")


@pytest.fixture
def crashing(plane, namespace, tmp_path):
    """A Deployment that crash-loops with too long a max_model_len."""
    (tmp_path / "previous").write_text(as_container_log(PREVIOUS), encoding="utf-8")
    (tmp_path / "current").write_text(as_container_log("INFO starting"), encoding="utf-8")
    plane.create(logs_of_namespace(namespace, tmp_path / "current", tmp_path / "previous"))
    made = deployment("qwen", namespace, ARGS, CRASHES, image="vllm/vllm-openai:v0.20.0", nodeSelector=SELECTOR)
    made["spec"]["template"]["spec"]["containers"][0]["envFrom"] = [{"configMapRef": {"name": "tuning"}}]
    tuning = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "tuning", "namespace": namespace}}
    plane.create(tuning | {"data": {"OMP_NUM_THREADS": "4"}}, made)
    eventually(lambda: plane.crash_looping(namespace))
    return namespace


def test_a_crash_looping_deployment_is_diagnosed_from_its_previous_log(oomedic, crashing):
    status, out, _ = oomedic("diagnose", "deploy/qwen", "-n", crashing, "-o", "json")
    (result,) = json.loads(out)["results"]
    assert status == 1
    assert result["diagnosis"]["findings"][0]["code"] == "OOM401"
    assert result["plan"]["changes"][0]["target"] == "max_model_len"
    assert 90000 <= result["plan"]["changes"][0]["after"] <= 111456, "what is confirmed, and what the engine printed"
    assert result["subject"]["unit"] == "Deployment/qwen#vllm"
    assert result["subject"]["gpu"] == "NVIDIA GeForce RTX 3090", "from the labels of the node"
    assert result["subject"]["vllm"] == "0.20.0", "from the tag of the image"
    assert result["diagnosis"]["missing"] == []


def test_the_report_for_people_shows_the_change_of_the_live_object(oomedic, crashing):
    _, out, _ = oomedic("diagnose", "deploy/qwen", "-n", crashing)
    assert "OOM401 kv-cache-too-small (certain)" in out
    assert "-        - --max-model-len=180000" in out
    assert "Looked at: pod qwen-" in out


def test_kubectl_finds_it_as_a_plugin(plane, crashing):
    words = ["oomedic", "diagnose", "deploy/qwen", "-n", crashing, "--offline", f"--kubeconfig={plane.admin}"]
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    kubectl = plane.assets.programs["kubectl"]
    done = subprocess.run(
        [kubectl, *words], env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.partition(" ")[0]) == (1, "OOM401"), done.stderr


def test_a_pod_leads_to_the_deployment_that_made_it(oomedic, plane, crashing):
    (pod,) = plane.read("pods", "-n", crashing)["items"]
    _, out, _ = oomedic("diagnose", pod["metadata"]["name"], "-n", crashing, "-o", "json")
    assert json.loads(out)["results"][0]["subject"]["unit"] == "Deployment/qwen#vllm"


def test_a_rollout_whose_old_pods_still_serve_shows_what_changed(oomedic, plane, namespace, tmp_path):
    (tmp_path / "previous").write_text(as_container_log(PREVIOUS), encoding="utf-8")
    (tmp_path / "current").write_text(as_container_log("INFO starting"), encoding="utf-8")
    plane.create(logs_of_namespace(namespace, tmp_path / "current", tmp_path / "previous"))
    works = [ARGS[0], "--max-model-len=90000"]
    plane.create(deployment("qwen", namespace, works, CRASHES, nodeSelector=SELECTOR))
    eventually(lambda: plane.read("deploy/qwen", "-n", namespace)["status"].get("readyReplicas"))
    change = [{"op": "replace", "path": "/spec/template/spec/containers/0/args/1", "value": ARGS[1]}]
    plane.kubectl("patch", "deploy/qwen", "-n", namespace, "--type=json", "-p", json.dumps(change))
    eventually(lambda: plane.crash_looping(namespace))
    _, out, _ = oomedic("diagnose", "deploy/qwen", "-n", namespace)
    assert "max_model_len" in out
    assert "90000" in out, "the value of the revision whose pods are ready"


def test_another_context_and_a_limit_on_logs_mean_what_they_mean_for_kubectl(plane, crashing, tmp_path):
    config = json.loads(plane.admin.read_text(encoding="utf-8"))
    nowhere = {"name": "nowhere", "cluster": {"server": "https://127.0.0.1:9"}}
    here = {**config["contexts"][0], "name": "here"}
    away = {"name": "away", "context": {**here["context"], "cluster": "nowhere"}}
    config |= {"clusters": [*config["clusters"], nowhere], "contexts": [here, away], "current-context": "away"}
    (tmp_path / "config").write_text(json.dumps(config), encoding="utf-8")
    words = (
        "diagnose",
        "deploy/qwen",
        "-n",
        crashing,
        "-o",
        "json",
        "--offline",
        f"--kubeconfig={tmp_path / 'config'}",
    )
    command = [sys.executable, "-m", "oomedic.entrypoints.cli", *words]
    # the log of the life before is read whole, however old it is: its cause stands there
    done = subprocess.run([*command, "--context=here", "--since=1s"], capture_output=True, text=True, check=False)
    assert json.loads(done.stdout)["results"][0]["diagnosis"]["findings"][0]["code"] == "OOM401", done.stderr
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, "does not answer" in done.stderr) == (3, True)


def test_a_search_finds_the_failing_engines_and_nothing_else(oomedic, plane, crashing):
    plane.create(deployment("other", crashing, ["--max-model-len=180000"], CRASHES, image="nginx:1", gpus="0"))
    eventually(lambda: len(plane.read("pods", "-n", crashing)["items"]) == 2)
    status, out, _ = oomedic("diagnose", "-n", crashing, "-o", "json")
    assert [result["subject"]["name"] for result in json.loads(out)["results"]] == ["qwen"]
    assert status == 1
    _, everywhere, _ = oomedic("diagnose", "-A", "-l", "app=qwen", "-o", "json")
    assert crashing in [result["subject"]["namespace"] for result in json.loads(everywhere)["results"]]


RULES = [
    (rule["apiGroups"][0], resource, verb)
    for document in yaml.safe_load_all(ROLE.read_text(encoding="utf-8"))
    for rule in document["rules"]
    for resource in rule["resources"]
    for verb in rule["verbs"]
]
LOST = {
    ("", "pods", "list"): "Who else is on the node",
    ("", "pods/log", "get"): "The logs of the containers",
    ("", "events", "list"): "The events of the pods",
    ("", "configmaps", "get"): "ConfigMaps that the pod names",
    ("", "nodes", "get"): "The node",
    ("karpenter.sh", "nodepools", "list"): "Karpenter's node pools",
    ("apps", "replicasets", "get"): "What owns the pods",
    ("apps", "deployments", "get"): "What owns the pods",
    ("apps", "replicasets", "list"): "Earlier revisions of the workload",
}
"""The fact that each permission gives, for a pod of a Deployment."""
OF_OTHER_KINDS = sorted(
    rule
    for rule in RULES
    if rule[0] in {"batch", "leaderworkerset.x-k8s.io", "serving.kserve.io", "ray.io"}
    or rule[1] in {"statefulsets", "daemonsets", "controllerrevisions", "pods/exec", "pods/proxy", "runtimeclasses"}
)


def test_the_shipped_role_is_enough_for_all_of_it(oomedic, plane, crashing):
    with as_reader(plane, RULES):
        status, out, err = oomedic("diagnose", "deploy/qwen", "-n", crashing, "-o", "json", user="reader")
    assert status == 1, err
    assert json.loads(out)["results"][0]["diagnosis"]["missing"] == []


@pytest.mark.parametrize("lost", sorted(LOST), ids=lambda lost: f"{lost[2]}-{lost[1]}")
def test_a_permission_less_costs_its_fact_alone_and_is_named(oomedic, plane, crashing, lost):
    (pod,) = plane.read("pods", "-n", crashing)["items"]
    with as_reader(plane, [rule for rule in RULES if rule != lost]):
        _, out, err = oomedic("diagnose", pod["metadata"]["name"], "-n", crashing, "-o", "json", user="reader")
    result = json.loads(out)["results"][0]
    group, resource, verb = lost
    rule = f'{{apiGroups: ["{group}"], resources: ["{resource}"], verbs: ["{verb}"]}}'
    place = "*" if resource in {"pods", "nodes", "nodepools"} else crashing
    (missing,) = [each for each in result["diagnosis"]["missing"] if "apiGroups" in each["how"]]
    assert missing["what"].startswith(LOST[lost]), err
    assert missing["how"] == f"a Role with the rule {rule}, in the namespace {place}"
    # all else is there: without the log the pod's status still tells that it crash-loops
    assert bool(result["diagnosis"]["findings"]) is (resource != "pods/log")


def test_what_other_workloads_need_is_not_missed(oomedic, plane, crashing):
    with as_reader(plane, [rule for rule in RULES if rule not in OF_OTHER_KINDS]):
        _, out, _ = oomedic("diagnose", "deploy/qwen", "-n", crashing, "-o", "json", user="reader")
    assert json.loads(out)["results"][0]["diagnosis"]["missing"] == []


def test_without_any_permission_there_is_one_clear_message(oomedic, crashing):
    status, out, err = oomedic("diagnose", "deploy/qwen", "-n", crashing, user="nobody")
    assert (status, out) == (3, "")
    assert "You may not get deployments in the namespace" in err
    assert 'apiGroups: ["apps"], resources: ["deployments"], verbs: ["get"]' in err


def test_acting_as_somebody_else_is_judged_by_their_rights(oomedic, crashing):
    status, _, err = oomedic("diagnose", "deploy/qwen", "-n", crashing, "--as", "nobody")
    assert status == 3
    assert "You may not get deployments" in err


def test_a_kind_of_which_nothing_is_known_is_looked_up(oomedic, namespace):
    # by its short name, and by a group that oomedic does not know
    status, _, err = oomedic("diagnose", "cj.batch/nothing", "-n", namespace)
    assert (status, "The cluster has no CronJob nothing" in err) == (3, True), err
    status, _, err = oomedic("diagnose", "ds/nothing", "-n", namespace)
    assert (status, "The cluster has no DaemonSet nothing" in err) == (3, True), err
    status, _, err = oomedic("diagnose", "limits/nothing", "-n", namespace)
    assert (status, "The cluster has no LimitRange nothing" in err) == (3, True), err
    status, _, err = oomedic("diagnose", "unicorns/nothing", "-n", namespace)
    assert (status, 'knows no kind "unicorns"' in err) == (2, True), err


def test_an_object_that_is_not_there_is_said_in_one_sentence(oomedic, namespace):
    status, _, err = oomedic("diagnose", "deploy/nothing", "-n", namespace)
    assert status == 3
    assert f"The cluster has no Deployment nothing in the namespace {namespace}." in err


def test_helm_is_named_as_the_place_of_the_change(oomedic, plane, crashing):
    plane.kubectl("label", "deploy/qwen", "-n", crashing, "app.kubernetes.io/managed-by=Helm")
    plane.kubectl("annotate", "deploy/qwen", "-n", crashing, "meta.helm.sh/release-name=chat")
    _, out, _ = oomedic("diagnose", "deploy/qwen", "-n", crashing, "-o", "json")
    notes = json.loads(out)["results"][0]["notes"]
    assert {"message": "cluster.managed-helm", "parameters": {"name": "chat"}}.items() <= next(
        note for note in notes if note["message"].startswith("cluster.managed")
    ).items()


class as_reader:  # noqa: N801 - it reads as the words of a with statement
    """Bind the user ``reader`` to a ClusterRole with some rules."""

    def __init__(self, plane, rules):
        self._plane = plane
        self._rules = [
            {"apiGroups": [group], "resources": [resource], "verbs": [verb]} for group, resource, verb in rules
        ]

    def __enter__(self):
        role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "reads"}}
        self._plane.create(role | {"rules": self._rules})
        self._plane.kubectl("create", "clusterrolebinding", "reads", "--clusterrole=reads", "--user=reader")

    def __exit__(self, *_):
        self._plane.kubectl("delete", "clusterrolebinding/reads", "clusterrole/reads")
