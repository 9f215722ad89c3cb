"""Values of vLLM's own Helm chart (examples/online_serving/chart-helm): the whole command line stands under ``image``.

The chart makes a Deployment of one container ``vllm``; its nodes are chosen by ``gpuModels`` where GPUs are asked for.
"""

from collections.abc import Iterable
from typing import Final

from oomedic.kube.objects import KubeObject
from oomedic.workloads.devices import whole
from oomedic.workloads.home import list_home
from oomedic.workloads.pod_facts import strategy
from oomedic.workloads.pod_spec import PodTemplate, read_pod
from oomedic.workloads.reading import Reading
from oomedic.workloads.source import Source
from oomedic.yamldoc.nodes import Node, fields, get, items, text_of
from oomedic.yamldoc.rendered import is_true, leaf, listed, mapped

_PRODUCT: Final = "nvidia.com/gpu.product"
_PLACEHOLDER: Final = "TYPE_GPU_USED"
_SHM: Final = "shm"


def recognises(found: KubeObject) -> bool:
    """Tell whether these are values of the chart: an image with a command line that starts vLLM."""
    words = [text_of(word) or "" for word in items(get(found.node, "image", "command"))]
    return not found.kind and get(found.node, "image", "repository") is not None and "vllm" in " ".join(words)


def read(found: KubeObject, source: Source) -> Iterable[Reading]:
    """Return the engine."""
    replicas = get(found.node, "replicaCount")
    template = PodTemplate(
        _pod(found.node),
        "/image",
        unit="image",
        replicas=1 if replicas is None else whole(text_of(replicas)),
        strategy=strategy(get(found.node, "deploymentStrategy"), ("25%", "25%")),
        progress_deadline_s=1200,
        home=list_home(get(found.node, "image"), "command"),
    )
    return read_pod(found, template, source)


def _pod(values: Node) -> Node:
    image = get(values, "image")
    repository, tag = (text_of(get(image, key)) for key in ("repository", "tag"))
    shared = is_true(get(values, _SHM, "enabled"))
    memory = mapped({"medium": "Memory", "sizeLimit": get(values, _SHM, "size")})
    container = {
        "name": "vllm",
        "image": f"{repository}:{tag}" if tag else repository,
        "command": get(image, "command"),
        "env": get(image, "env"),
        "resources": get(values, "resources"),
        "volumeMounts": listed([mapped({"name": _SHM, "mountPath": "/dev/shm"})] if shared else []),  # noqa: S108 - a mount
        **{name: get(values, name) for name in ("startupProbe", "readinessProbe", "livenessProbe")},
    }
    return mapped(
        {
            "containers": listed([mapped(container)]),
            "volumes": listed([mapped({"name": _SHM, "emptyDir": memory})] if shared else []),
            "nodeSelector": get(values, "nodeSelector") if fields(get(values, "nodeSelector")) else None,
            "tolerations": get(values, "tolerations"),
            "affinity": _affinity(values),
        }
    )


def _affinity(values: Node) -> Node | None:
    """Return what the chart makes of ``gpuModels``, None for its placeholder."""
    models = get(values, "gpuModels")
    if not items(models) or any(text_of(model) == _PLACEHOLDER for model in items(models)):
        return None
    expression = mapped({"key": leaf(_PRODUCT), "operator": leaf("In"), "values": models})
    terms = mapped({"nodeSelectorTerms": listed([mapped({"matchExpressions": listed([expression])})])})
    return mapped({"nodeAffinity": mapped({"requiredDuringSchedulingIgnoredDuringExecution": terms})})
