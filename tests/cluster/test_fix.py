"""`oomedic fix`, `verify` and `undo` on a real control plane; kwok plays the kubelet.

What crashes and what starts stands in tests/cases (gh-club-3090-35), not in our own arithmetic; in the stories of the
real engine a vLLM decides.
"""

import json

import pytest
from plane.case import ARGS, LENGTH, QUICK


def test_without_apply_nothing_is_changed_and_the_request_is_shown(plane, oomedic, make):
    namespace = make()
    before = plane.spec(namespace)
    status, out, _ = oomedic("fix", "deploy/qwen", "-n", namespace, "-o", "json")
    result = json.loads(out)["results"][0]
    assert status == 1
    assert plane.spec(namespace) == before
    test, replace = json.loads(result["patch"]["text"])[:2]
    place = "/spec/template/spec/containers/0/args/1"
    assert test == {"op": "test", "path": place, "value": "--max-model-len=180000"}
    assert replace == {"op": "replace", "path": place, "value": f"--max-model-len={LENGTH}"}
    assert result["verdict"] is None


def test_a_fix_arrives_on_a_node_whose_only_gpu_the_crashing_pod_holds(plane, oomedic, make):
    namespace = make()
    status, out, err = oomedic("fix", "deploy/qwen", "-n", namespace, "--apply", "-o", "json", *QUICK)
    verdict = json.loads(out)["results"][0]["verdict"]
    assert (status, verdict["state"]) == (0, "healthy"), (out[-1500:], err)
    said = {each["message"]: each["parameters"] for each in verdict["because"]}
    assert said["rollout.answered"]["path"] == "/v1/chat/completions"
    assert said["rollout.metrics"] == {"preemptions": 0, "usage": 0.25}
    assert said["rollout.kv-printed"]["printed"] == 111456
    spec = plane.spec(namespace)
    assert f"--max-model-len={LENGTH}" in spec["template"]["spec"]["containers"][0]["args"]
    # the default strategy would have waited for a second GPU without end
    assert spec["strategy"]["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}


def test_undo_gives_back_the_spec_as_it_was(plane, oomedic, make):
    namespace = make()
    before = plane.spec(namespace)
    oomedic("fix", "deploy/qwen", "-n", namespace, "--apply", *QUICK)
    assert plane.spec(namespace) != before
    status, out, _ = oomedic("undo", "deploy/qwen", "-n", namespace)
    assert status == 0
    assert "Deployment/qwen was changed back: FIX101" in out
    assert plane.spec(namespace) == before
    status, _, err = oomedic("undo", "deploy/qwen", "-n", namespace)
    assert status == 2
    assert "carries no record of a change" in err


def test_a_fix_that_still_crashes_is_taken_back_and_diagnosed_again(plane, oomedic, make):
    # the engine still dies: the argument that it crashes with is one that the change leaves as it is
    namespace = make(annotations={"oomedic.test/crashes-with": ARGS[0]})
    before = plane.spec(namespace)
    status, out, _ = oomedic("fix", "deploy/qwen", "-n", namespace, "--apply", "-o", "json", *QUICK)
    results = json.loads(out)["results"]
    assert (status, results[0]["verdict"]["state"]) == (4, "still-oom")
    assert "rollout.rolled-back" in [each["message"] for each in results[0]["verdict"]["because"]]
    assert results[1]["diagnosis"]["findings"][0]["code"] == "OOM401", "the second diagnosis"
    assert plane.spec(namespace) == before


def test_a_failed_change_stays_where_that_is_wanted(plane, oomedic, make):
    namespace = make(annotations={"oomedic.test/crashes-with": ARGS[0]})
    status, _, _ = oomedic("fix", "deploy/qwen", "-n", namespace, "--apply", "--no-rollback", *QUICK)
    assert status == 4
    assert f"--max-model-len={LENGTH}" in plane.spec(namespace)["template"]["spec"]["containers"][0]["args"]


@pytest.mark.parametrize(
    ("marks", "tool"),
    [
        (["label", "app.kubernetes.io/managed-by=Helm"], "helm"),
        (["annotate", "argocd.argoproj.io/tracking-id=chat:apps/Deployment:t/qwen"], "argocd"),
        (["label", "kustomize.toolkit.fluxcd.io/name=chat"], "flux-kustomize"),
    ],
)
def test_what_a_tool_outside_keeps_is_not_touched(plane, oomedic, make, marks, tool):
    namespace = make()
    plane.kubectl(marks[0], "deploy/qwen", "-n", namespace, marks[1])
    before = plane.spec(namespace)
    status, out, err = oomedic("fix", "deploy/qwen", "-n", namespace, "--apply", *QUICK)
    assert (status, out) == (2, "")
    assert f"{tool} keeps Deployment/qwen as its source says" in err
    assert f"+        - --max-model-len={LENGTH}" in err, "the change for the source is shown"
    assert plane.spec(namespace) == before


def test_verify_alone_says_whether_the_server_answers(oomedic, make):
    namespace = make()
    status, out, _ = oomedic("verify", "deploy/qwen", "-n", namespace, *QUICK)
    assert status == 4
    assert "Verdict: still-oom" in out
    oomedic("fix", "deploy/qwen", "-n", namespace, "--apply", *QUICK)
    status, out, _ = oomedic("verify", "deploy/qwen", "-n", namespace, *QUICK)
    assert status == 0
    assert "Verdict: healthy" in out


def test_a_user_who_may_not_patch_changes_nothing(plane, oomedic, make):
    namespace = make()
    plane.kubectl("create", "rolebinding", "views", "-n", namespace, "--clusterrole=view", "--user=fixer")
    before = plane.spec(namespace)
    status, _, err = oomedic("fix", "deploy/qwen", "-n", namespace, "--apply", *QUICK, user="fixer")
    assert status == 3
    assert 'apiGroups: ["apps"], resources: ["deployments"], verbs: ["patch"]' in err
    assert plane.spec(namespace) == before


def test_a_user_who_may_not_forward_ports_keeps_a_change_that_helps(plane, oomedic, make):
    namespace = make()
    plane.kubectl("create", "rolebinding", "views", "-n", namespace, "--clusterrole=view", "--user=fixer")
    plane.kubectl("create", "role", "patches", "-n", namespace, "--verb=patch", "--resource=deployments.apps")
    plane.kubectl("create", "rolebinding", "patches", "-n", namespace, "--role=patches", "--user=fixer")
    words = ("fix", "deploy/qwen", "-n", namespace, "--apply", "-o", "json", *QUICK)
    status, out, err = oomedic(*words, user="fixer")
    verdict = json.loads(out)["results"][0]["verdict"]
    assert (status, verdict["state"]) == (0, "healthy"), err
    said = {each["message"]: each["parameters"] for each in verdict["because"]}
    assert said["rollout.not-asked"]["rule"] == '{apiGroups: [""], resources: ["pods/portforward"], verbs: ["create"]}'


def test_the_memory_of_the_gpu_is_watched_while_the_pod_stays_ready(plane, oomedic, make, nvidia_smi):
    # of two cards it shows 21,000 MiB in use and, later, 21,512
    seen = plane.folder / "seen"
    nvidia_smi(f"[ -e {seen} ] && used=21512 || used=21000\ntouch {seen}\necho 20000\necho $used")
    namespace = make()
    status, out, err = oomedic("fix", "deploy/qwen", "-n", namespace, "--apply", "-o", "json", *QUICK)
    said = {each["message"]: each["parameters"] for each in json.loads(out)["results"][0]["verdict"]["because"]}
    assert status == 0, err
    told = said["rollout.memory"]
    assert (told["before"], told["after"]) == (21000 << 20, 21512 << 20)
    assert told["seconds"] >= 1
