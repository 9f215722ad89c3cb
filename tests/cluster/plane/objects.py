"""Objects that the tests put on a plane: GPU nodes, engines in Deployments, what kwok shows as their logs."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

A10G = {"nvidia.com/gpu.product": "NVIDIA-A10G", "nvidia.com/gpu.memory": "23028"}
"""What NVIDIA's feature discovery writes on a node with this card."""


def gpu_node(
    name: str,
    labels: Mapping[str, str] = A10G,
    instance_type: str = "g5.xlarge",
    gpus: int = 1,
    taints: Sequence[Mapping[str, str]] = (),
) -> dict[str, Any]:
    """Return a node with GPUs, as NVIDIA's device plugin would report it; kwok makes it ready."""
    room = {"cpu": "4", "memory": "16Gi", "pods": "2000", "ephemeral-storage": "100Gi", "nvidia.com/gpu": str(gpus)}
    own = {
        "node.kubernetes.io/instance-type": instance_type,
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": own | dict(labels)},
        "spec": {"taints": list(taints)},
        "status": {"capacity": room, "allocatable": room},
    }


def deployment(
    name: str,
    namespace: str,
    args: Sequence[str],
    annotations: Mapping[str, str] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """Return a Deployment with one engine; ``spec`` goes into the pod's spec, ``strategy`` into the Deployment's."""
    strategy = spec.pop("strategy", None)
    gpus = spec.pop("gpus", "1")
    labels = {"app": name}
    container = {
        "name": "vllm",
        "image": spec.pop("image", "vllm/vllm-openai:v0.10.2"),
        "args": list(args),
        "ports": [{"containerPort": 8000}],
        "resources": {"limits": {"nvidia.com/gpu": gpus}},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            **({"strategy": strategy} if strategy else {}),
            "template": {
                "metadata": {"labels": labels, "annotations": dict(annotations or {})},
                "spec": {"containers": [container], **spec},
            },
        },
    }


def logs_of_namespace(namespace: str, current: Path, previous: Path) -> dict[str, Any]:
    """Return what makes kwok serve these files as the logs of every container of a namespace."""
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "ClusterLogs",
        "metadata": {"name": f"logs-{namespace}"},
        "spec": {
            "selector": {"matchNamespaces": [namespace]},
            "logs": [{"logsFile": str(current), "previousLogsFile": str(previous)}],
        },
    }


def ports_of_namespace(namespace: str, port: int) -> dict[str, Any]:
    """Return what makes kwok lead port 8000 of every pod of a namespace to a port of this machine."""
    target = {"address": "127.0.0.1", "port": port}
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "ClusterPortForward",
        "metadata": {"name": f"ports-{namespace}"},
        "spec": {"selector": {"matchNamespaces": [namespace]}, "forwards": [{"ports": [8000], "target": target}]},
    }


def as_container_log(text: str) -> str:
    """Return a log in the form in which a container runtime keeps it: time, stream, whole line, text."""
    return "".join(f"2026-01-01T00:00:00.000000000Z stdout F {line}\n" for line in text.splitlines())


def eventually(found: Callable[[], Any], patience: float = 60.0) -> Any:
    """Return the first true value of ``found``, asked again and again.

    Raises:
        TimeoutError: when there is none within ``patience`` seconds.
    """
    deadline = time.monotonic() + patience
    while not (value := found()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {patience:.0f} s")
        time.sleep(0.2)
    return value
