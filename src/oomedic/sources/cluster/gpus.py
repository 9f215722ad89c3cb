"""What the GPUs of a pod themselves say: nvidia-smi inside its container, or DCGM's exporter on its node."""

from collections.abc import Iterable, Iterator
from typing import Final

from oomedic.errors import ClusterError
from oomedic.kube.ownership import Tree
from oomedic.live.workload import Printed, Refused, gpu_containers_running
from oomedic.sources.cluster.connection import Connection
from oomedic.units import MIB, Bytes

_TABLE: Final = ["nvidia-smi"]
_IN_USE: Final = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
_EXPORTERS: Final = frozenset(("dcgm-exporter", "nvidia-dcgm-exporter"))
_NAME_LABELS: Final = ("app.kubernetes.io/name", "app")
_PORT: Final = 9400
_FORBIDDEN: Final = 403


async def inside(connection: Connection, pod: Tree) -> Printed | Refused | None:
    """Return what nvidia-smi prints in the pod's container with GPUs, None where none runs at this moment."""
    container = next(gpu_containers_running(pod), None)
    if container is None:
        return None
    from oomedic.sources.cluster.execution import run_inside  # websockets are loaded only where a container runs

    said = await run_inside(connection, pod, container, _TABLE)
    return Printed("nvidia-smi", f"nvidia-smi in {pod['metadata']['name']}", said) if isinstance(said, str) else said


async def memory_in_use(connection: Connection, pod: Tree, container: str) -> Bytes | None:
    """Return the memory in use of the fullest card, None where it cannot be seen."""
    from oomedic.sources.cluster.execution import run_inside  # see inside

    said = await run_inside(connection, pod, container, _IN_USE)
    used = [int(line) for line in said.split() if line.isdigit()] if isinstance(said, str) else []
    return max(used) * MIB if used else None


async def exported(connection: Connection, pods: Iterable[Tree]) -> Printed | Refused | None:
    """Return the metrics of DCGM's exporter among the pods of a node, None where there is none, or it is silent."""
    exporter = next(_exporters(pods), None)
    if exporter is None:
        return None
    metadata = exporter["metadata"]
    place = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}:{_port(exporter)}/proxy/metrics"
    try:
        answer = await connection.glance(place)
    except ClusterError:
        return None  # the exporter's fault, or the network's between: the API server itself has just answered
    if answer.status == _FORBIDDEN:
        return Refused("dcgm", "get", "", "pods/proxy", metadata["namespace"])
    text = answer.body.decode("utf-8", "replace")
    return Printed("dcgm", f"DCGM of {metadata['name']}", text) if answer.status == 200 else None


def _exporters(pods: Iterable[Tree]) -> Iterator[Tree]:
    """Yield the pods that run the exporter, as NVIDIA's chart and GPU operator label them, or by their image."""
    for pod in pods:
        labels = pod["metadata"].get("labels") or {}
        images = (str(container.get("image", "")) for container in pod["spec"].get("containers") or ())
        if any(labels.get(name) in _EXPORTERS for name in _NAME_LABELS) or any(
            "dcgm-exporter" in each for each in images
        ):
            yield pod


def _port(exporter: Tree) -> int:
    ports = [port for container in exporter["spec"]["containers"] for port in container.get("ports") or ()]
    named = [port for port in ports if port.get("name") == "metrics"]
    return next((int(port["containerPort"]) for port in (*named, *ports)), _PORT)
