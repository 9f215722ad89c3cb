"""What `oomedic fix` changes beside arguments, and in other objects than Deployments, on a real control plane."""

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from plane.case import ARGS, CARD, CRASHES, LENGTH, PREVIOUS, QUICK
from plane.objects import as_container_log, deployment, eventually, gpu_node, logs_of_namespace, ports_of_namespace
from plane.proxy import Fault, faulty
from test_faults import arguments

ROLES = Path(__file__).parents[2] / "deploy/rbac"
CONFIG = "model: Qwen/Qwen3.6-27B\nmax-model-len: 180000\n"
WORKS = [ARGS[0], "--max-model-len=90000"]
"""With these the case's engine starts (tests/cases)."""


@pytest.fixture
def settings(plane, make, namespace):
    """A Deployment whose engine reads its arguments from a file in a ConfigMap."""
    content = {"metadata": {"name": "tuning", "namespace": namespace}, "data": {"config.yaml": CONFIG}}
    plane.create({"apiVersion": "v1", "kind": "ConfigMap"} | content)
    crashes = {"oomedic.test/crashes-with-config": "tuning"}
    volume = {"name": "config", "configMap": {"name": "tuning"}}
    return make(["--config=/etc/vllm/config.yaml"], crashes, volumes=[volume], mounts={"config": "/etc/vllm"})


def config_maps(plane, namespace):
    found = plane.read("configmaps", "-n", namespace)["items"]
    return {each["metadata"]["name"]: each["data"] for each in found if each["metadata"]["name"].startswith("tuning")}


def test_a_config_file_is_changed_through_a_copy_of_its_config_map(plane, oomedic, settings):
    namespace, before = settings, plane.spec(settings)
    status, out, err = oomedic("fix", "deploy/qwen", "-n", namespace, "--apply", "-o", "json", *QUICK)
    assert (status, json.loads(out)["results"][0]["verdict"]["state"]) == (0, "healthy"), err
    (copy,) = config_maps(plane, namespace).keys() - {"tuning"}
    assert plane.spec(namespace)["template"]["spec"]["volumes"][0]["configMap"]["name"] == copy
    assert f"max-model-len: {LENGTH}" in config_maps(plane, namespace)[copy]["config.yaml"]
    assert config_maps(plane, namespace)["tuning"] == {"config.yaml": CONFIG}, "who else reads it reads what it said"
    assert oomedic("undo", "deploy/qwen", "-n", namespace)[0] == 0
    assert plane.spec(namespace) == before
    assert config_maps(plane, namespace).keys() == {"tuning"}


def test_without_the_right_to_make_a_config_map_nothing_is_changed(plane, oomedic, settings, bind):
    bind("view", ("patch", "deployments.apps"))
    before = plane.spec(settings)
    status, out, err = oomedic("fix", "deploy/qwen", "-n", settings, "--apply", *QUICK, user="fixer")
    assert (status, out) == (3, "")
    assert 'apiGroups: [""], resources: ["configmaps"], verbs: ["create"]' in err
    assert plane.spec(settings) == before


def test_a_copy_that_is_not_used_does_not_stay(plane, oomedic, settings, bind):
    bind("view", ("create,delete", "configmaps"))
    before = plane.spec(settings)
    status, out, err = oomedic("fix", "deploy/qwen", "-n", settings, "--apply", *QUICK, user="fixer")
    assert (status, out) == (3, "")
    assert 'apiGroups: ["apps"], resources: ["deployments"], verbs: ["patch"]' in err
    assert plane.spec(settings) == before
    assert config_maps(plane, settings).keys() == {"tuning"}


def test_a_fix_that_is_killed_after_making_its_copy_changes_nothing_and_the_next_one_takes_the_copy(
    plane, oomedic, settings
):
    namespace, before, running = settings, plane.spec(settings), []
    made = itertools.count(1)

    def judge(method, path):
        # the first is the dry run
        if method == "POST" and path.partition("?")[0].endswith("/configmaps") and next(made) == 2:
            return Fault(before=lambda: os.kill(running[0].pid, signal.SIGKILL))
        return None

    with faulty(plane.server, judge) as server:
        words = ("fix", "deploy/qwen", "-n", namespace, "--apply", "--offline", *QUICK)
        config = f"--kubeconfig={plane.kubeconfig('admin', server=server)}"
        command = [sys.executable, "-m", "oomedic.entrypoints.cli", *words, config]
        running.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        assert running[0].wait(60) == -signal.SIGKILL
        eventually(lambda: len(config_maps(plane, namespace)) == 2)
    assert plane.spec(namespace) == before
    assert oomedic("fix", "deploy/qwen", "-n", namespace, "--apply", *QUICK)[0] == 0
    assert oomedic("undo", "deploy/qwen", "-n", namespace)[0] == 0
    assert plane.spec(namespace) == before
    assert config_maps(plane, namespace).keys() == {"tuning"}


def test_a_change_that_was_edited_since_is_not_undone(plane, oomedic, make):
    namespace = make()
    assert oomedic("fix", "deploy/qwen", "-n", namespace, "--apply", *QUICK)[0] == 0
    theirs = [{"op": "replace", "path": "/spec/template/spec/containers/0/args/1", "value": "--max-model-len=65536"}]
    plane.kubectl("patch", "deploy/qwen", "-n", namespace, "--type=json", "-p", json.dumps(theirs))
    before = plane.spec(namespace)
    status, out, err = oomedic("undo", "deploy/qwen", "-n", namespace)
    assert (status, out) == (3, "")
    assert "was changed by somebody else meanwhile" in err
    assert "another value at /spec/template/spec/containers/0/args/1" in err
    assert plane.spec(namespace) == before


@pytest.fixture
def bind(plane, namespace):
    """Give the user ``fixer`` a role and the right to some verbs on one resource."""

    def give(role, extra):
        plane.kubectl("create", "rolebinding", "has", "-n", namespace, f"--clusterrole={role}", "--user=fixer")
        verbs, resource = extra
        plane.kubectl("create", "role", "more", "-n", namespace, f"--verb={verbs}", f"--resource={resource}")
        plane.kubectl("create", "rolebinding", "more", "-n", namespace, "--role=more", "--user=fixer")

    return give


@pytest.fixture
def shipped(plane):
    """The user ``fixer`` has the roles that are shipped for `fix`, and no others."""
    for name in ("diagnose", "fix"):
        plane.kubectl("create", "-f", str(ROLES / f"{name}.yaml"))
        plane.kubectl("create", "clusterrolebinding", name, f"--clusterrole=oomedic-{name}", "--user=fixer")
    yield "fixer"
    plane.kubectl("delete", "clusterrolebinding/diagnose", "clusterrolebinding/fix")
    for name in ("diagnose", "fix"):
        plane.kubectl("delete", "-f", str(ROLES / f"{name}.yaml"))


def test_the_shipped_roles_are_enough_for_a_config_file(oomedic, settings, shipped):
    words = ("--apply", "-o", "json", *QUICK)
    status, out, err = oomedic("fix", "deploy/qwen", "-n", settings, *words, user=shipped)
    assert out, err
    result = json.loads(out)["results"][0]
    assert (status, result["verdict"]["state"]) == (0, "healthy"), err
    assert "rollout.answered" in [each["message"] for each in result["verdict"]["because"]]
    assert [each for each in result["diagnosis"]["missing"] if "apiGroups" in each["how"]] == []
    status, out, _ = oomedic("undo", "deploy/qwen", "-n", settings, user=shipped)
    assert (status, "could not be deleted" in out) == (0, False)


def test_the_shipped_roles_are_enough_for_a_stateful_set(oomedic, stateful, shipped):
    namespace = stateful()
    status, _, err = oomedic("fix", "sts/qwen", "-n", namespace, "--apply", *QUICK, user=shipped)
    assert status == 0, err


@pytest.fixture
def stateful(plane, namespace, tmp_path, engine_port):
    """A StatefulSet whose only pod crash-loops."""
    node = f"set-{namespace}"
    plane.create(gpu_node(node, CARD, instance_type="workstation", gpus=1))
    (tmp_path / "previous").write_text(as_container_log(PREVIOUS), encoding="utf-8")
    (tmp_path / "current").write_text(as_container_log("INFO starting"), encoding="utf-8")
    plane.create(
        logs_of_namespace(namespace, tmp_path / "current", tmp_path / "previous"),
        ports_of_namespace(namespace, engine_port),
    )

    def made(annotations=CRASHES):
        found = deployment("qwen", namespace, ARGS, annotations, nodeSelector={"kubernetes.io/hostname": node})
        plane.create({**found, "kind": "StatefulSet", "spec": {**found["spec"], "serviceName": "qwen"}})
        eventually(lambda: plane.crash_looping(namespace))
        return namespace

    yield made
    plane.kubectl("delete", "sts/qwen", "-n", namespace, "--wait=false")
    plane.kubectl("delete", "node", node)


def set_arguments(plane, namespace):
    return plane.read("sts/qwen", "-n", namespace)["spec"]["template"]["spec"]["containers"][0]["args"]


def test_the_pod_that_a_stateful_set_would_wait_for_without_end_is_deleted(plane, oomedic, stateful):
    namespace = stateful()
    status, out, err = oomedic("fix", "sts/qwen", "-n", namespace, "--apply", "-o", "json", *QUICK)
    assert (status, json.loads(out)["results"][0]["verdict"]["state"]) == (0, "healthy"), err
    assert "deleting the pod qwen-0" in err
    assert f"--max-model-len={LENGTH}" in set_arguments(plane, namespace)


def test_a_stateful_set_is_taken_back_with_the_pod_that_outlasts_the_change(plane, oomedic, stateful):
    namespace = stateful({"oomedic.test/crashes-with": ARGS[0]})
    status, out, err = oomedic("fix", "sts/qwen", "-n", namespace, "--apply", "-o", "json", *QUICK)
    assert (status, json.loads(out)["results"][0]["verdict"]["state"]) == (4, "still-oom"), err
    assert set_arguments(plane, namespace) == ARGS
    eventually(lambda: plane.read("pod/qwen-0", "-n", namespace)["spec"]["containers"][0]["args"] == ARGS)


def test_without_the_right_to_delete_that_pod_nothing_is_changed(plane, oomedic, stateful, bind):
    namespace = stateful()
    bind("view", ("patch", "statefulsets.apps"))
    status, out, err = oomedic("fix", "sts/qwen", "-n", namespace, "--apply", *QUICK, user="fixer")
    assert (status, out) == (3, "")
    assert 'apiGroups: [""], resources: ["pods"], verbs: ["delete"]' in err
    assert set_arguments(plane, namespace) == ARGS


@pytest.fixture
def changed(plane, make):
    """A Deployment that ran, until somebody gave it a longer max_model_len."""

    def made(*, after_s=0, **spec):
        namespace = make(WORKS, CRASHES, ready=True, **spec)
        time.sleep(after_s)
        long = [{"op": "replace", "path": "/spec/template/spec/containers/0/args/1", "value": ARGS[1]}]
        plane.kubectl("patch", "deploy/qwen", "-n", namespace, "--type=json", "-p", json.dumps(long))
        return namespace

    return made


def test_the_revision_that_still_serves_is_gone_back_to(plane, oomedic, changed):
    # beside the old pod, on a second GPU
    namespace = changed(gpus_of_node=2)
    eventually(lambda: plane.crash_looping(namespace))
    status, out, _ = oomedic("diagnose", "deploy/qwen", "-n", namespace, "-o", "json")
    result = json.loads(out)["results"][0]
    assert status == 1
    notes = {note["message"]: note["parameters"] for note in result["notes"]}
    made = plane.read("rs", "-n", namespace)["items"]
    first = min(each["metadata"]["creationTimestamp"] for each in made)
    assert notes["cluster.former"] == {"number": 1, "at": first}
    said = [each["message"] for each in result["diagnosis"]["findings"][0]["because"]]
    assert any(message.startswith("before.") for message in said), "what changed, and what that takes"
    way_back = [each for each in result["plan"]["alternatives"] if each["changes"][0]["remedy"] == "FIX502"]
    assert way_back[0]["changes"][0] == {"target": "spec.template", "before": None, "after": 1, "remedy": "FIX502"}
    words = ("--remedy", "FIX502", "--apply", "-o", "json", *QUICK)
    status, out, err = oomedic("fix", "deploy/qwen", "-n", namespace, *words)
    assert (status, json.loads(out)["results"][0]["verdict"]["state"]) == (0, "healthy"), err
    assert arguments(plane, namespace) == WORKS
    assert oomedic("undo", "deploy/qwen", "-n", namespace)[0] == 0
    assert arguments(plane, namespace) == ARGS


def test_a_revision_that_was_available_until_it_was_replaced_is_known_to_have_run(plane, oomedic, changed):
    # with Recreate nothing of it is left; an engine needs longer than the 15 s within which its word would not count
    namespace = changed(strategy={"type": "Recreate"}, after_s=17)
    eventually(lambda: plane.crash_looping(namespace))
    words = ("--remedy", "FIX502", "--apply", "-o", "json", *QUICK)
    status, out, err = oomedic("fix", "deploy/qwen", "-n", namespace, *words)
    result = json.loads(out)["results"][0]
    assert (status, result["verdict"]["state"]) == (0, "healthy"), err
    assert "cluster.former-until" in [note["message"] for note in result["notes"]]
    assert arguments(plane, namespace) == WORKS


def test_the_return_to_a_revision_that_does_not_answer_is_taken_back(plane, oomedic, changed):
    namespace = changed(gpus_of_node=2)
    eventually(lambda: plane.crash_looping(namespace))
    before = plane.spec(namespace)
    plane.kubectl("delete", f"clusterportforward.kwok.x-k8s.io/ports-{namespace}")
    words = ("--remedy", "FIX502", "--apply", "-o", "json", *QUICK)
    status, out, err = oomedic("fix", "deploy/qwen", "-n", namespace, *words)
    assert (status, json.loads(out)["results"][0]["verdict"]["state"]) == (4, "no-answer"), err
    assert plane.spec(namespace) == before


def test_what_a_controller_makes_is_not_touched(plane, oomedic, make):
    namespace = make()
    # a kind that nobody reads engines from
    plane.kubectl("create", "serviceaccount", "chat", "-n", namespace)
    uid = plane.read("serviceaccount/chat", "-n", namespace)["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "ServiceAccount", "name": "chat", "uid": uid, "controller": True}
    change = json.dumps({"metadata": {"ownerReferences": [owner]}})
    plane.kubectl("patch", "deploy/qwen", "-n", namespace, "--type=merge", "-p", change)
    before = plane.spec(namespace)
    status, out, err = oomedic("fix", "deploy/qwen", "-n", namespace, "--apply", *QUICK)
    assert (status, out) == (2, ""), err
    assert "ServiceAccount/chat makes Deployment/qwen" in err
    assert re.search(rf"^\+ +- --max-model-len={LENGTH}$", err, re.MULTILINE), "the change is shown"
    assert plane.spec(namespace) == before
