"""A short-lived pod of our own on a node, which runs nvidia-smi: only where the user asks for it.

It asks for no GPU, so that it fits beside the pod that holds them; NVIDIA's runtime shows it all of them all the same.
It runs what the engine's image already holds, and passes the strictest of Kubernetes' pod security standards.
"""

import asyncio
import json
from typing import Any, Final

from oomedic.errors import ClusterError
from oomedic.kube.ownership import Tree
from oomedic.live.workload import Printed, Refused
from oomedic.sources.cluster.connection import Answer, Connection
from oomedic.sources.cluster.kinds import POD, RUNTIME_CLASS

_PATIENCE_S: Final = 60
_PAUSE_S: Final = 1.0
_FORBIDDEN: Final = 403
_RUNTIME: Final = "nvidia"
_CONTAINER: Final = "nvidia-smi"
_SIZE: Final = {"cpu": "100m", "memory": "256Mi"}


class ProbeError(Exception):
    """The pod could not be made, or did not print: ``reason`` says why."""

    def __init__(self, reason: str) -> None:
        """Keep the reason."""
        super().__init__(reason)
        self.reason = reason


async def probe_node(connection: Connection, pod: Tree) -> Printed | Refused:
    """Run nvidia-smi on the node of a pod, beside it.

    Raises:
        ProbeError: when the cluster may be asked and the pod prints nothing.
    """
    namespace = pod["metadata"]["namespace"]
    body = json.dumps(_probe(pod, await _runtime(connection, pod))).encode()
    headers = {"Content-Type": "application/json"}
    made = await connection.ask("POST", POD.path(namespace), {"fieldManager": "oomedic"}, body, headers)
    if made.status not in {200, 201}:
        return _not_allowed(made, "create", namespace)
    name = made.tree["metadata"]["name"]
    try:
        await _ended(connection, namespace, name)
        log = await connection.log(namespace, name, container=_CONTAINER)
    finally:
        gone = await connection.ask("DELETE", POD.path(namespace, name), {"gracePeriodSeconds": "0"})
    if gone.status == _FORBIDDEN:
        return _not_allowed(gone, "delete", namespace)
    if log.status != 200 or not log.body.strip():
        raise ProbeError(log.message if log.status != 200 else "nothing was printed")
    return Printed("nvidia-smi", f"nvidia-smi on {pod['spec']['nodeName']}", log.body.decode("utf-8", "replace"))


def _not_allowed(answer: Answer, verb: str, namespace: str) -> Refused:
    """Tell a missing permission from what admission refuses, which has the same status."""
    if answer.status == _FORBIDDEN and f"cannot {verb} resource" in answer.message:
        return Refused("probe", verb, "", "pods", namespace)
    raise ProbeError(answer.message)


async def _ended(connection: Connection, namespace: str, name: str) -> None:
    for _ in range(int(_PATIENCE_S / _PAUSE_S)):
        answer = await connection.get(POD.path(namespace, name))
        status = answer.tree.get("status", {}) if answer.status == 200 else {}
        if status.get("phase") == "Succeeded":
            return
        if status.get("phase") == "Failed" or answer.status != 200:
            raise ProbeError(_why(status) or answer.message)
        await asyncio.sleep(_PAUSE_S)
    raise ProbeError(f"not done within {_PATIENCE_S} s")


def _why(status: dict[str, Any]) -> str:
    ends = (each.get("state", {}).get("terminated") or {} for each in status.get("containerStatuses") or ())
    said = (str(end.get("message") or end.get("reason") or "") for end in ends)
    return next(filter(None, said), str(status.get("message") or status.get("reason") or ""))


async def _runtime(connection: Connection, pod: Tree) -> str | None:
    """Return the runtime class that hands GPUs to pods: the pod's own, else NVIDIA's if the cluster has it."""
    own = pod["spec"].get("runtimeClassName")
    if own:
        return str(own)
    try:
        answer = await connection.get(RUNTIME_CLASS.path(None, _RUNTIME))
    except ClusterError:
        return None
    return _RUNTIME if answer.status == 200 else None


def _probe(pod: Tree, runtime: str | None) -> dict[str, Any]:
    spec = pod["spec"]
    image = next((each["image"] for each in spec["containers"] if "vllm" in str(each)), spec["containers"][0]["image"])
    container = {
        "name": _CONTAINER,
        "image": image,
        "command": ["nvidia-smi"],
        "env": [
            {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"},
            {"name": "NVIDIA_DRIVER_CAPABILITIES", "value": "utility"},
        ],
        "resources": {"requests": _SIZE, "limits": _SIZE},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": "oomedic-probe-",
            "labels": {"app.kubernetes.io/name": "oomedic-probe", "app.kubernetes.io/managed-by": "oomedic"},
            "annotations": {"sidecar.istio.io/inject": "false"},
        },
        "spec": {
            "nodeName": spec["nodeName"],
            "containers": [container],
            "restartPolicy": "Never",
            "activeDeadlineSeconds": _PATIENCE_S,
            "tolerations": [{"operator": "Exists"}],
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "securityContext": {"runAsNonRoot": True, "runAsUser": 65534, "seccompProfile": {"type": "RuntimeDefault"}},
            **({"imagePullSecrets": spec["imagePullSecrets"]} if spec.get("imagePullSecrets") else {}),
            **({"runtimeClassName": runtime} if runtime else {}),
        },
    }
