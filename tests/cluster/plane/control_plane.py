"""etcd, API server with RBAC, controller manager, scheduler, kwok for the nodes, and Karpenter on request."""

import json
import os
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterable, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any

from plane.build import Assets, assets
from plane.credentials import ADMIN, write_certificate, write_kubeconfig, write_tokens
from plane.objects import eventually
from plane.processes import Program, free_ports, listens

HERE = Path(__file__).parent
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_UNHURRIED = ("--kube-api-qps=500", "--kube-api-burst=1000")
"""By default controllers make some 20 requests a second: 1,000 pods would take a minute."""
RUNTIME = ("Logs", "ClusterLogs", "Exec", "ClusterExec", "PortForward", "ClusterPortForward")
"""What tests tell kwok while it runs, through objects of its API; its stages stand in ``stages/``."""


class ControlPlane:
    """A control plane under ``folder``, started at once.

    Args:
        folder: an empty folder for its data, keys and logs.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.assets: Assets = assets()
        self._programs: list[Program] = []
        etcd, etcd_peers, api, self.kubelet_port = free_ports(4)
        self.server = f"https://127.0.0.1:{api}"
        write_certificate(folder)
        write_tokens(folder)
        self._trust = ssl.create_default_context(cafile=str(folder / "tls.crt"))
        self.admin = self.kubeconfig(ADMIN)
        try:
            self._start_etcd(etcd, etcd_peers)
            self._start_api_server(api, etcd)
            self._start("kube-controller-manager", *_controller_manager(folder))
            self._start(
                "kube-scheduler", f"--kubeconfig={self.admin}", "--leader-elect=false", "--secure-port=0", *_UNHURRIED
            )
            self.install_crds("sigs.k8s.io_kwok", "sigs.k8s.io_karpenter", "github.com_aws_karpenter-provider-aws")
            self._start_kwok()
        except BaseException:
            self.stop()
            raise

    def kubeconfig(self, user: str, namespace: str = "default", server: str | None = None) -> Path:
        """Return the kubeconfig of a user; ``server`` is where a proxy stands between."""
        path = self.folder / f"{user}-{namespace}.kubeconfig"
        if server is not None:
            path = path.with_suffix(f".{server.rpartition(':')[2]}.kubeconfig")
        return write_kubeconfig(path, server or self.server, self.folder / "tls.crt", f"{user}-token", namespace)

    def kubectl(self, *words: str, given: object = None, user: str = ADMIN) -> str:
        """Run kubectl and return what it prints; ``given`` is handed to it as JSON on standard input.

        Raises:
            KubectlError: when it ends with another status than 0.
        """
        text = None if given is None else given if isinstance(given, str) else json.dumps(given)
        done = subprocess.run(
            [self.assets.programs["kubectl"], f"--kubeconfig={self.kubeconfig(user)}", *words],
            input=text,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise KubectlError(f"kubectl {' '.join(words)}: {done.stderr.strip()}")
        return done.stdout

    def read(self, *words: str, user: str = ADMIN) -> Any:
        """Return the object or list that ``kubectl get`` finds."""
        return json.loads(self.kubectl("get", *words, "-o", "json", user=user))

    def crash_looping(self, namespace: str) -> Any:
        """Return the first pod of a namespace whose container waits to be started again, None if none does."""
        for pod in self.read("pods", "-n", namespace)["items"]:
            for status in pod["status"].get("containerStatuses", ()):
                if status["state"].get("waiting", {}).get("reason") == "CrashLoopBackOff":
                    return pod
        return None

    def is_ready(self, namespace: str) -> bool:
        """Tell whether the Deployment of a namespace has a pod that is ready."""
        return bool(self.read("deploy", "-n", namespace)["items"][0]["status"].get("readyReplicas"))

    def spec(self, namespace: str) -> Any:
        """Return the spec of the Deployment of a namespace."""
        return self.read("deploy", "-n", namespace)["items"][0]["spec"]

    def create(self, *objects: dict[str, Any], user: str = ADMIN) -> None:
        """Create objects, status included: a plain apply would drop it."""
        self.kubectl("create", "-f", "-", given={"apiVersion": "v1", "kind": "List", "items": objects}, user=user)

    def ask(self, method: str, path: str, body: bytes | None = None, kind: str = "application/json") -> Any:
        """Send one request to the API server: what kubectl does in a tenth of the time.

        Raises:
            urllib.error.HTTPError: when it refuses.
        """
        headers = {"Authorization": f"Bearer {ADMIN}-token", "Content-Type": kind}
        request = urllib.request.Request(f"{self.server}{path}", body, headers, method=method)
        with urllib.request.urlopen(request, context=self._trust, timeout=60) as answer:
            return json.load(answer)

    def patch_status(self, namespace: str, pod: str, change: dict[str, Any]) -> None:
        """Change the status of a pod, as a kubelet does."""
        place = f"/api/v1/namespaces/{namespace}/pods/{pod}/status"
        self.ask("PATCH", place, json.dumps(change).encode(), "application/strategic-merge-patch+json")

    def install_crds(self, *modules: str) -> None:
        """Install the definitions of some modules and wait until they serve; what is installed stays as it is."""
        names = []
        for source in (path for module in modules for path in sorted((self.assets.crds / module).glob("*.json"))):
            definition = source.read_bytes()
            names.append(json.loads(definition)["metadata"]["name"])
            try:
                self.ask("POST", _CRDS, definition)
            except urllib.error.HTTPError as refused:
                refused.close()
                if refused.code != HTTPStatus.CONFLICT:
                    raise
        for name in names:
            eventually(lambda name=name: _is_established(self.ask("GET", f"{_CRDS}/{name}")))

    def start_karpenter(self, instance_types: Iterable[dict[str, Any]]) -> None:
        """Start Karpenter, which makes nodes of the given instance types through kwok."""
        catalogue = self.folder / "instance_types.json"
        catalogue.write_text(json.dumps(list(instance_types)), encoding="utf-8")
        metrics, health = free_ports(2)
        environment = {
            "KUBECONFIG": str(self.admin),
            "DISABLE_LEADER_ELECTION": "true",
            "INSTANCE_TYPES_FILE_PATH": str(catalogue),
            "METRICS_PORT": str(metrics),
            "HEALTH_PROBE_PORT": str(health),
            "SYSTEM_NAMESPACE": "kube-system",
            "KUBERNETES_MIN_VERSION": "1.19.0-0",
        }
        karpenter = self._start("karpenter", environment=environment)
        karpenter.wait_until(lambda: listens(health))

    def stop(self) -> None:
        """Stop everything: what asks the API server first, then the API server, then etcd."""
        for program in reversed(self._programs):
            program.stop()
        self._programs.clear()

    def _start(self, name: str, *words: str | Path, environment: dict[str, str] | None = None) -> Program:
        program = Program([self.assets.programs[name], *words], self.folder / f"{name}.log", environment)
        self._programs.append(program)
        return program

    def _start_etcd(self, port: int, peers: int) -> None:
        address, peer = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peers}"
        etcd = self._start(
            "etcd",
            f"--data-dir={self.folder / 'etcd'}",
            f"--listen-client-urls={address}",
            f"--advertise-client-urls={address}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync",
        )
        etcd.wait_until(lambda: listens(port))

    def _start_api_server(self, port: int, etcd: int) -> None:
        folder = self.folder
        server = self._start(
            "kube-apiserver",
            f"--etcd-servers=http://127.0.0.1:{etcd}",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--tls-cert-file={folder / 'tls.crt'}",
            f"--tls-private-key-file={folder / 'tls.key'}",
            f"--service-account-key-file={folder / 'tls.crt'}",
            f"--service-account-signing-key-file={folder / 'tls.key'}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--token-auth-file={folder / 'tokens.csv'}",
            "--authorization-mode=RBAC",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--event-ttl=1h",
            "--kubelet-preferred-address-types=InternalIP",
        )
        server.wait_until(self._is_ready)

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.server}/readyz", context=self._trust, timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def _start_kwok(self) -> None:
        self._start(
            "kwok",
            *(f"--config={stage}" for stage in sorted((HERE / "stages").glob("*.yaml"))),
            f"--kubeconfig={self.admin}",
            "--manage-all-nodes",
            "--node-lease-duration-seconds=40",
            "--node-ip=127.0.0.1",
            "--node-name=kwok",
            f"--node-port={self.kubelet_port}",
            f"--server-address=127.0.0.1:{self.kubelet_port}",
            f"--tls-cert-file={self.folder / 'tls.crt'}",
            f"--tls-private-key-file={self.folder / 'tls.key'}",
            f"--enable-crds={','.join(RUNTIME)}",
            # programs that tests put there run inside of pods
            environment={"PATH": f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"},
        ).wait_until(lambda: listens(self.kubelet_port))


def _is_established(definition: dict[str, Any]) -> bool:
    conditions = definition.get("status", {}).get("conditions") or ()
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


class KubectlError(Exception):
    """What kubectl, or the API server behind it, refused, in its own words."""


def _controller_manager(folder: Path) -> Sequence[str]:
    return (
        f"--kubeconfig={folder / 'admin-default.kubeconfig'}",
        "--leader-elect=false",
        "--secure-port=0",
        # all of them: without that of node lifecycles new nodes keep the taint not-ready
        "--controllers=*",
        f"--service-account-private-key-file={folder / 'tls.key'}",
        f"--root-ca-file={folder / 'tls.crt'}",
        *_UNHURRIED,
    )
