"""`oomedic fix`, `verify` and `undo` on a real control plane; kwok plays the kubelet.

What crashes and what starts stands in tests/cases (gh-club-3090-35), not in our own arithmetic; in the stories of the
real engine a vLLM decides.
"""

import http.server
import json
import threading

import pytest
from plane.objects import as_container_log, deployment, eventually, gpu_node, logs_of_namespace
from test_diagnose import ARGS, CRASHES, PREVIOUS

CARD = {"nvidia.com/gpu.product": "NVIDIA-GeForce-RTX-3090", "nvidia.com/gpu.memory": "24576"}
LENGTH = 110592
"""The largest multiple of 4096 within the 111456 tokens that the engine printed."""
QUICK = ("--soak", "2s", "--timeout", "60s")


class Engine(http.server.BaseHTTPRequestHandler):
    """Answers as vLLM does; a real one answers in the stories of the real engine."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        models = json.dumps({"data": [{"id": "qwen"}]})
        metrics = (
            'vllm:num_preemptions_total{model_name="qwen"} 0.0\nvllm:kv_cache_usage_perc{model_name="qwen"} 0.25\n'
        )
        self._send({"/v1/models": models, "/metrics": metrics}.get(self.path))

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self._send(json.dumps({"choices": [{"text": "hi"}]}) if self.path == "/v1/chat/completions" else None)

    def _send(self, body):
        sent = (body or "{}").encode()
        self.send_response(200 if body else 404)
        # kwok's port-forward does not hand on that a server has closed its side
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def engine_port():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Engine)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


@pytest.fixture
def make(plane, namespace, tmp_path, engine_port):
    """Make a crash-looping Deployment on a node of its own with one GPU."""
    node = f"one-gpu-{namespace}"
    plane.create(gpu_node(node, CARD, instance_type="workstation", gpus=1))
    (tmp_path / "previous").write_text(as_container_log(PREVIOUS), encoding="utf-8")
    (tmp_path / "current").write_text(as_container_log("INFO GPU KV cache size: 111,456 tokens"), encoding="utf-8")
    plane.create(
        logs_of_namespace(namespace, tmp_path / "current", tmp_path / "previous"),
        {
            "apiVersion": "kwok.x-k8s.io/v1alpha1",
            "kind": "ClusterPortForward",
            "metadata": {"name": f"forward-{namespace}"},
            "spec": {
                "selector": {"matchNamespaces": [namespace]},
                "forwards": [{"ports": [8000], "target": {"address": "127.0.0.1", "port": engine_port}}],
            },
        },
    )

    def made(args=ARGS, annotations=CRASHES, **spec):
        selector = {"kubernetes.io/hostname": node}
        plane.create(deployment("qwen", namespace, args, annotations, nodeSelector=selector, **spec))
        eventually(lambda: plane.crash_looping(namespace))
        return namespace

    yield made
    plane.kubectl("delete", "deploy/qwen", "-n", namespace, "--ignore-not-found", "--wait=false")
    plane.kubectl("delete", "node", node)


def spec_of(plane, namespace):
    return plane.read("deploy/qwen", "-n", namespace)["spec"]


def test_without_apply_nothing_is_changed_and_the_request_is_shown(plane, oomedic, make):
    namespace = make()
    before = spec_of(plane, namespace)
    status, out, _ = oomedic("fix", "deploy/qwen", "-n", namespace, "-o", "json")
    result = json.loads(out)["results"][0]
    assert status == 1
    assert spec_of(plane, namespace) == before
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
    assert said["rollout.metrics"] == {"preemptions": 0, "usage": "25.0%"}
    assert said["rollout.kv-printed"]["printed"] == 111456
    spec = spec_of(plane, namespace)
    assert f"--max-model-len={LENGTH}" in spec["template"]["spec"]["containers"][0]["args"]
    # the default strategy would have waited for a second GPU without end
    assert spec["strategy"]["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}


def test_undo_gives_back_the_spec_as_it_was(plane, oomedic, make):
    namespace = make()
    before = spec_of(plane, namespace)
    oomedic("fix", "deploy/qwen", "-n", namespace, "--apply", *QUICK)
    assert spec_of(plane, namespace) != before
    status, out, _ = oomedic("undo", "deploy/qwen", "-n", namespace)
    assert status == 0
    assert "Deployment/qwen was changed back: FIX101" in out
    assert spec_of(plane, namespace) == before
    status, _, err = oomedic("undo", "deploy/qwen", "-n", namespace)
    assert status == 2
    assert "carries no record of a change" in err


def test_a_fix_that_still_crashes_is_taken_back_and_diagnosed_again(plane, oomedic, make):
    # the engine still dies: the argument that it crashes with is one that the change leaves as it is
    namespace = make(annotations={"oomedic.test/crashes-with": ARGS[0]})
    before = spec_of(plane, namespace)
    status, out, _ = oomedic("fix", "deploy/qwen", "-n", namespace, "--apply", "-o", "json", *QUICK)
    results = json.loads(out)["results"]
    assert (status, results[0]["verdict"]["state"]) == (4, "still-oom")
    assert "rollout.rolled-back" in [each["message"] for each in results[0]["verdict"]["because"]]
    assert results[1]["diagnosis"]["findings"][0]["code"] == "OOM401", "the second diagnosis"
    assert spec_of(plane, namespace) == before


def test_a_failed_change_stays_where_that_is_wanted(plane, oomedic, make):
    namespace = make(annotations={"oomedic.test/crashes-with": ARGS[0]})
    status, _, _ = oomedic("fix", "deploy/qwen", "-n", namespace, "--apply", "--no-rollback", *QUICK)
    assert status == 4
    assert f"--max-model-len={LENGTH}" in spec_of(plane, namespace)["template"]["spec"]["containers"][0]["args"]


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
    before = spec_of(plane, namespace)
    status, out, err = oomedic("fix", "deploy/qwen", "-n", namespace, "--apply", *QUICK)
    assert (status, out) == (2, "")
    assert f"{tool} keeps Deployment/qwen as its source says" in err
    assert f"+        - --max-model-len={LENGTH}" in err, "the change for the source is shown"
    assert spec_of(plane, namespace) == before


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
    before = spec_of(plane, namespace)
    status, _, err = oomedic("fix", "deploy/qwen", "-n", namespace, "--apply", *QUICK, user="fixer")
    assert status == 3
    assert 'apiGroups: ["apps"], resources: ["deployments"], verbs: ["patch"]' in err
    assert spec_of(plane, namespace) == before
