"""In place of a kubelet for pods that run a real engine: their process, their logs, their status.

A pod whose label ``oomedic.test/plays`` is ``engine`` and that has a node gets a process of ``vllm serve`` with the
arguments and variables of its container. What that process does decides everything: its output becomes the pod's log,
its exit a crash loop, its answer on /health readiness. Ports are forwarded to it by kwok.
"""

import datetime as dt
import json
import os
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plane.control_plane import ControlPlane
from plane.processes import free_ports

PLAYS = {"oomedic.test/plays": "engine"}
"""The label and the annotation (for kwok, which leaves such pods alone) of a pod of the runner's."""
_SELECTOR = "labelSelector=oomedic.test/plays%3Dengine"
_BACK_OFF_S = 20.0


class Runner:
    """Runs the pods of one plane until it is stopped.

    Args:
        plane: the control plane.
        vllm: the command of a real engine.
        environment: variables that every engine gets.
        folder: for logs.
    """

    def __init__(self, plane: ControlPlane, vllm: Path, environment: Mapping[str, str], folder: Path) -> None:
        self._plane = plane
        self._vllm = vllm
        self._environment = dict(environment)
        self._folder = folder
        self._lives: dict[str, _Pod] = {}
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def give(self, **variables: str) -> None:
        """Give every engine that starts from now on further variables: the machine is another one now."""
        self._environment |= variables

    def stop(self) -> None:
        """End all engines."""
        self._stopped.set()
        self._thread.join()
        for pod in self._lives.values():
            pod.kill()

    def _run(self) -> None:
        while not self._stopped.wait(0.5):
            for found in self._plane.ask("GET", f"/api/v1/pods?{_SELECTOR}")["items"]:
                try:
                    self._look_after(found)
                except urllib.error.HTTPError as error:
                    error.close()
                    if error.code not in {404, 409}:  # it is gone, or was changed: the next look sees
                        raise

    def _look_after(self, found: dict[str, Any]) -> None:
        uid = found["metadata"]["uid"]
        pod = self._lives.get(uid)
        if "deletionTimestamp" in found["metadata"]:
            if pod is not None:
                pod.kill()
            place = f"/api/v1/namespaces/{found['metadata']['namespace']}/pods/{found['metadata']['name']}"
            self._plane.ask("DELETE", place, b'{"gracePeriodSeconds": 0}')
        elif pod is None and found["spec"].get("nodeName"):
            self._lives[uid] = _Pod(self._plane, found, (self._vllm, self._environment), self._folder)
        elif pod is not None:
            pod.look()


class _Pod:
    """One pod: its container's process, life after life."""

    def __init__(
        self,
        plane: ControlPlane,
        found: dict[str, Any],
        engine: tuple[Path, Mapping[str, str]],
        folder: Path,
    ) -> None:
        self._plane = plane
        self._found = found
        self._engine = engine
        self._container = found["spec"]["containers"][0]
        self._name, self._namespace = found["metadata"]["name"], found["metadata"]["namespace"]
        self._current, self._previous = folder / f"{self._name}.log", folder / f"{self._name}.previous.log"
        self._current.touch()
        self._previous.touch()
        (self._port,) = free_ports(1)
        self._restarts = 0
        self._last: dict[str, Any] = {}
        self._state = ""
        self._back_off_ends = 0.0
        self._show()
        self._start()

    def look(self) -> None:
        """See what became of the process, and say it."""
        if self._process is None:
            if time.monotonic() > self._back_off_ends:
                self._restarts += 1
                self._start()
            return
        code = self._process.poll()
        if code is not None:
            self._ended(code)
        elif self._state == "starting" and self._answers():
            self._report("ready", {"running": {"startedAt": self._began}}, ready=True)

    def kill(self) -> None:
        """End the process."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(20)

    def _start(self) -> None:
        vllm, environment = self._engine
        words = [str(vllm), "serve", *self._container["args"], "--host", "127.0.0.1", "--port", str(self._port)]
        variables = {each["name"]: each["value"] for each in self._container.get("env", ())}
        self._began = _now()
        self._process: subprocess.Popen[str] | None = subprocess.Popen(
            words,
            env={**os.environ, **environment, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        self._reader = threading.Thread(target=self._read, args=(self._process,), daemon=True)
        self._reader.start()
        self._report("starting", {"running": {"startedAt": self._began}})

    def _read(self, process: "subprocess.Popen[str]") -> None:
        """Keep what the process prints, as a container runtime does."""
        assert process.stdout is not None
        with self._current.open("w", encoding="utf-8") as log, process.stdout as printed:
            for line in printed:
                log.write(f"{_now(precise=True)} stdout F {line.rstrip()}\n")
                log.flush()

    def _ended(self, code: int) -> None:
        self._reader.join(10)
        self._previous.write_bytes(self._current.read_bytes())
        ended = {"exitCode": code, "reason": "Error" if code else "Completed"}
        self._last = {"terminated": {**ended, "startedAt": self._began, "finishedAt": _now()}}
        self._process = None
        self._back_off_ends = time.monotonic() + _BACK_OFF_S
        self._report("waiting", {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off restarting"}})

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/health", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def _report(self, state: str, shown: dict[str, Any], *, ready: bool = False) -> None:
        """Write the pod's status, as its kubelet would."""
        self._state = state
        moment, told = _now(), str(ready)
        conditions = [
            {"type": kind, "status": told if kind != "Initialized" else "True", "lastTransitionTime": moment}
            for kind in ("Initialized", "ContainersReady", "Ready")
        ]
        container = {
            "name": self._container["name"],
            "image": self._container["image"],
            "imageID": "",
            "ready": ready,
            "started": ready,
            "restartCount": self._restarts,
            "state": shown,
            "lastState": self._last,
        }
        status = {"phase": "Running", "conditions": conditions, "containerStatuses": [container]}
        status |= {"hostIP": "127.0.0.1", "podIP": "127.0.0.1", "startTime": self._began}
        self._plane.patch_status(self._namespace, self._name, {"status": status})

    def _show(self) -> None:
        """Tell kwok where the logs are, and where the ports lead."""
        files = {"logsFile": str(self._current), "previousLogsFile": str(self._previous)}
        ports = [each["containerPort"] for each in self._container.get("ports", ())]
        target = {"address": "127.0.0.1", "port": self._port}
        named = {"metadata": {"name": self._name, "namespace": self._namespace}}
        version = {"apiVersion": "kwok.x-k8s.io/v1alpha1"}
        root = f"/apis/kwok.x-k8s.io/v1alpha1/namespaces/{self._namespace}"
        logs = version | named | {"kind": "Logs", "spec": {"logs": [files]}}
        forward = version | named | {"kind": "PortForward", "spec": {"forwards": [{"ports": ports, "target": target}]}}
        self._plane.ask("POST", f"{root}/logs", json.dumps(logs).encode())
        self._plane.ask("POST", f"{root}/portforwards", json.dumps(forward).encode())


def _now(*, precise: bool = False) -> str:
    now = dt.datetime.now(dt.UTC)
    return now.strftime("%Y-%m-%dT%H:%M:%S.%f000Z") if precise else now.strftime("%Y-%m-%dT%H:%M:%SZ")
