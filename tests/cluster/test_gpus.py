"""What the GPUs themselves say: nvidia-smi in a running container, DCGM's exporter, a pod of our own on the node."""

import http.server
import json
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from plane.objects import as_container_log, eventually
from plane.proxy import Fault, faulty
from plane.runner import PLAYS
from test_diagnose import RULES, as_reader

SAMPLES = Path(__file__).parents[1] / "observed/samples"
DIAGNOSE = ("diagnose", "deploy/qwen", "-o", "json", "-n")


@pytest.fixture
def loading(plane, make):
    """A pod whose engine runs again after a crash and is not ready, as most of the time of a crash loop."""
    namespace = make()
    pod = plane.crash_looping(namespace)
    (status,) = pod["status"]["containerStatuses"]
    running = {**status, "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}
    plane.patch_status(namespace, pod["metadata"]["name"], {"status": {"containerStatuses": [running]}})
    return namespace


@pytest.fixture
def exporter(plane, make):
    """DCGM's exporter on the node of a pod that waits to be started again; returns the namespace of both."""
    namespace = make()
    address = _address()
    server = http.server.ThreadingHTTPServer((address, 0), _Metrics)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = {"name": "metrics", "containerPort": server.server_port}
    container = {"name": "exporter", "image": "nvcr.io/nvidia/k8s/dcgm-exporter:4.4.0", "ports": [port]}
    # kwok would give it an address that nothing listens on: the test says how it is
    metadata = {"name": "dcgm", "namespace": namespace, "labels": {"app": "nvidia-dcgm-exporter"}, "annotations": PLAYS}
    spec = {"nodeName": f"one-gpu-{namespace}", "containers": [container]}
    plane.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    plane.patch_status(namespace, "dcgm", {"status": {"phase": "Running", "podIP": address}})
    yield namespace
    plane.kubectl("delete", "pod/dcgm", "-n", namespace, "--grace-period=0", "--force")
    server.shutdown()
    server.server_close()


class _Metrics(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        sent = (SAMPLES / "dcgm.txt").read_bytes() if self.path == "/metrics" else b""
        self.send_response(200 if sent else 404)
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *_):
        pass


def _address():
    """Return an address of this machine to which an API server hands a request on: loopback is none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.connect(("192.0.2.1", 9))  # nothing is sent: only the route is looked up
        return asking.getsockname()[0]


def result_of(answer):
    _, out, err = answer
    assert out, err
    return json.loads(out)["results"][0]


def said_of_gpus(result):
    return [note["where"] for note in result["notes"] if note["message"].startswith("observed.gpu")]


def rules_named(result):
    return [each["how"] for each in result["diagnosis"]["missing"] if "apiGroups" in each["how"]]


def rule(resource, verb, namespace):
    written = f'{{apiGroups: [""], resources: ["{resource}"], verbs: ["{verb}"]}}'
    return f"a Role with the rule {written}, in the namespace {namespace}"


def test_a_container_that_runs_is_asked_itself(oomedic, loading, nvidia_smi):
    nvidia_smi(f"cat {SAMPLES / 'nvidia-smi.txt'}")
    result = result_of(oomedic(*DIAGNOSE, loading))
    assert all(where.startswith("nvidia-smi in qwen-") for where in said_of_gpus(result))
    assert said_of_gpus(result)
    assert result["diagnosis"]["findings"][0]["code"] == "OOM401"


def test_an_image_without_the_program_costs_nothing_but_that_fact(oomedic, loading, nvidia_smi):
    nvidia_smi("echo not here; exit 127")
    result = result_of(oomedic(*DIAGNOSE, loading))
    assert said_of_gpus(result) == rules_named(result) == []
    assert result["diagnosis"]["findings"][0]["code"] == "OOM401"


@pytest.mark.parametrize("verb", ["get", "create"])
def test_without_the_right_to_run_it_that_is_named(plane, oomedic, loading, nvidia_smi, verb):
    nvidia_smi(f"cat {SAMPLES / 'nvidia-smi.txt'}")
    with as_reader(plane, [rule for rule in RULES if rule != ("", "pods/exec", verb)]):
        result = result_of(oomedic(*DIAGNOSE, loading, user="reader"))
    assert said_of_gpus(result) == []
    assert rules_named(result) == [rule("pods/exec", verb, loading)]


def test_the_exporter_on_the_node_tells_of_its_gpus(plane, oomedic, exporter):
    with as_reader(plane, RULES):
        result = result_of(oomedic(*DIAGNOSE, exporter, user="reader"))
    assert all(where.startswith("DCGM of dcgm:") for where in said_of_gpus(result))
    assert said_of_gpus(result)
    assert rules_named(result) == []


def test_without_the_right_to_reach_the_exporter_that_is_named(plane, oomedic, exporter):
    with as_reader(plane, [rule for rule in RULES if rule != ("", "pods/proxy", "get")]):
        result = result_of(oomedic(*DIAGNOSE, exporter, user="reader"))
    assert said_of_gpus(result) == []
    assert rules_named(result) == [rule("pods/proxy", "get", exporter)]


def test_an_exporter_that_does_not_answer_costs_its_fact_alone(plane, oomedic, exporter):
    plane.patch_status(exporter, "dcgm", {"status": {"podIP": "127.0.0.1", "podIPs": None}})
    result = result_of(oomedic(*DIAGNOSE, exporter))
    assert said_of_gpus(result) == []
    assert result["diagnosis"]["findings"][0]["code"] == "OOM401"


@pytest.fixture
def probed(plane, make, tmp_path):
    """A crash-looping pod, on whose node a pod of our own would print what nvidia-smi does."""
    namespace = make()
    table = (SAMPLES / "nvidia-smi.txt").read_text(encoding="utf-8")
    (tmp_path / "smi").write_text(as_container_log(table), encoding="utf-8")
    logs = plane.read("clusterlogs.kwok.x-k8s.io", f"logs-{namespace}")
    logs["spec"]["logs"].insert(0, {"containers": ["nvidia-smi"], "logsFile": str(tmp_path / "smi")})
    plane.kubectl("replace", "-f", "-", given=logs)
    return namespace


def test_a_pod_of_our_own_is_made_only_where_the_user_asks_and_is_gone_afterwards(plane, oomedic, probed):
    assert said_of_gpus(result_of(oomedic(*DIAGNOSE, probed))) == []
    with as_reader(plane, RULES):
        result = result_of(oomedic(*DIAGNOSE, probed, "--probe-node", user="reader"))
    assert all(where.startswith(f"nvidia-smi on one-gpu-{probed}:") for where in said_of_gpus(result))
    assert said_of_gpus(result)
    assert rules_named(result) == []
    assert [pod["metadata"]["name"][:5] for pod in plane.read("pods", "-n", probed)["items"]] == ["qwen-"]


def test_an_interruption_leaves_no_pod_of_our_own_behind(plane, probed):
    running = []
    stop = Fault(before=lambda: running[0].send_signal(signal.SIGINT))
    judge = lambda method, path: stop if method == "GET" and "/pods/oomedic-probe-" in path else None  # noqa: E731 - short
    with faulty(plane.server, judge) as server:
        words = [
            *DIAGNOSE,
            probed,
            "--probe-node",
            "--offline",
            f"--kubeconfig={plane.kubeconfig('admin', server=server)}",
        ]
        command = [sys.executable, "-m", "oomedic.entrypoints.cli", *words]
        running.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        out, err = running[0].communicate(timeout=60)
    assert (running[0].returncode, out) == (130, ""), err
    assert "Traceback" not in err
    assert [pod["metadata"]["name"][:5] for pod in plane.read("pods", "-n", probed)["items"]] == ["qwen-"]


def test_the_pod_of_our_own_passes_the_strictest_standard(plane, oomedic, probed):
    plane.kubectl("label", "namespace", probed, "pod-security.kubernetes.io/enforce=restricted")
    assert said_of_gpus(result_of(oomedic(*DIAGNOSE, probed, "--probe-node")))


def test_what_refuses_the_pod_of_our_own_is_quoted(plane, oomedic, probed):
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "full", "namespace": probed}}
    plane.create(quota | {"spec": {"hard": {"pods": "1"}}})
    eventually(lambda: plane.read("quota/full", "-n", probed)["status"].get("used"))
    result = result_of(oomedic(*DIAGNOSE, probed, "--probe-node"))
    (failed,) = [note for note in result["notes"] if note["message"] == "cluster.probe-failed"]
    assert "exceeded quota: full" in failed["parameters"]["reason"]
    assert result["diagnosis"]["findings"][0]["code"] == "OOM401"


def test_without_the_right_to_make_a_pod_that_is_named(plane, oomedic, probed):
    with as_reader(plane, [rule for rule in RULES if rule != ("", "pods", "create")]):
        result = result_of(oomedic(*DIAGNOSE, probed, "--probe-node", user="reader"))
    assert rules_named(result) == [rule("pods", "create", probed)]
