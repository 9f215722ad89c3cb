import http.server
import itertools
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from plane.case import ARGS, CARD, CRASHES, PREVIOUS
from plane.control_plane import ControlPlane
from plane.fake_engine import FakeEngine
from plane.instance_types import instance_types
from plane.objects import as_container_log, deployment, eventually, gpu_node, logs_of_namespace, ports_of_namespace

HERE = Path(__file__).parent
NUMBERS = itertools.count(1)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Everything in this folder needs the control plane: `make test-cluster` selects it, `make test` does not."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.cluster)


@pytest.fixture(scope="session")
def plane(tmp_path_factory):
    """The control plane of this run, with one node of three A10G."""
    plane = ControlPlane(tmp_path_factory.mktemp("plane"))
    try:
        plane.create(gpu_node("gpu-1", gpus=3))
        yield plane
    finally:
        plane.stop()


@pytest.fixture(scope="session")
def workload_kinds(plane):
    """LeaderWorkerSet, KServe and KubeRay: their definitions are large, and keep the API server busy for a minute."""
    plane.install_crds("sigs.k8s.io_lws", "github.com_kserve_kserve", "github.com_ray-project_kuberay_ray-operator")
    return plane


@pytest.fixture(scope="session")
def karpenter(plane):
    """Karpenter with the catalogue's instance types, and the class of nodes that its pools refer to."""
    plane.create({"apiVersion": "karpenter.kwok.sh/v1alpha1", "kind": "KWOKNodeClass", "metadata": {"name": "default"}})
    plane.start_karpenter(instance_types())
    return plane


@pytest.fixture
def namespace(plane):
    """A namespace of this test's own."""
    name = f"t{next(NUMBERS)}"
    plane.kubectl("create", "namespace", name)
    yield name
    plane.kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture
def oomedic(plane):
    """Call oomedic as a user of the plane; return status, standard output and standard error."""

    def call(*words, user="admin", server=None, **environment):
        config = plane.kubeconfig(user, server=server)
        done = subprocess.run(
            [sys.executable, "-m", "oomedic.entrypoints.cli", *words, f"--kubeconfig={config}", "--offline"],
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | environment,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode, done.stdout, done.stderr

    return call


@pytest.fixture(scope="session")
def engine_port():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), FakeEngine)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


@pytest.fixture
def nvidia_smi(plane):
    """Put a program of that name, of these lines of shell, inside of all containers."""
    program = plane.folder / "bin/nvidia-smi"
    program.parent.mkdir(exist_ok=True)
    runs = {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "ClusterExec", "metadata": {"name": "smi"}}
    plane.create(runs | {"spec": {"execs": [{"local": {}}]}})

    def write(lines):
        program.write_text(f"#!/bin/sh\n{lines}\n", encoding="utf-8")
        program.chmod(0o755)

    yield write
    plane.kubectl("delete", "clusterexec.kwok.x-k8s.io/smi")


@pytest.fixture
def make(plane, namespace, tmp_path, engine_port):
    """Make a Deployment, crash-looping unless it is to be ready, on a node of its own with one GPU or more."""
    node = f"one-gpu-{namespace}"
    (tmp_path / "previous").write_text(as_container_log(PREVIOUS), encoding="utf-8")
    (tmp_path / "current").write_text(as_container_log("INFO GPU KV cache size: 111,456 tokens"), encoding="utf-8")
    plane.create(
        logs_of_namespace(namespace, tmp_path / "current", tmp_path / "previous"),
        ports_of_namespace(namespace, engine_port),
    )

    def made(args=ARGS, annotations=CRASHES, *, ready=False, gpus_of_node=1, mounts=None, **spec):
        plane.create(gpu_node(node, CARD, instance_type="workstation", gpus=gpus_of_node))
        engine = deployment("qwen", namespace, args, annotations, nodeSelector={"kubernetes.io/hostname": node}, **spec)
        if mounts:
            listed = [{"name": name, "mountPath": path} for name, path in mounts.items()]
            engine["spec"]["template"]["spec"]["containers"][0]["volumeMounts"] = listed
        plane.create(engine)
        eventually(lambda: plane.is_ready(namespace) if ready else plane.crash_looping(namespace))
        return namespace

    yield made
    plane.kubectl("delete", "deploy/qwen", "-n", namespace, "--ignore-not-found", "--wait=false")
    plane.kubectl("delete", "node", node)
