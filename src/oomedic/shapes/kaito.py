"""KAITO Workspace and InferenceSet: a preset, and a ConfigMap whose ``inference_config.yaml`` has vLLM's arguments.

The fields of a Workspace stand at the top level. The controller itself passes a gpu_memory_utilization of 0.84 and lets
vLLM fit max_model_len (presets/workspace/models/vllm_model.go); keys of the ConfigMap follow and win. It makes a
NodePool for the instance type that the object asks for.
"""

from collections.abc import Iterable
from typing import Final

from oomedic.claim import claim
from oomedic.kube.objects import KubeObject
from oomedic.workloads.devices import whole
from oomedic.workloads.home import Home, fields_home
from oomedic.workloads.pod_spec import PodTemplate, read_pod
from oomedic.workloads.reading import Reading
from oomedic.workloads.source import Source
from oomedic.yamldoc.nodes import MappingNode, Node, get, items, text_of
from oomedic.yamldoc.rendered import dashed, flags, leaf, listed, mapped

_PARTS: Final = {"Workspace": "", "InferenceSet": "/spec/template"}
_FILE: Final = "inference_config.yaml"
_UTILIZATION: Final = "0.84"


def recognises(found: KubeObject) -> bool:
    """Tell whether this is an object of KAITO that serves a model."""
    return found.kind in _PARTS and found.group == "kaito.sh"


def read(found: KubeObject, source: Source) -> Iterable[Reading]:
    """Return the engine of the preset, or those of a pod template that the user brings."""
    part = found.at(_PARTS[found.kind]) if _PARTS[found.kind] else found.node
    inference, resource = get(part, "inference"), get(part, "resource")
    if inference is None:
        return
    pod = get(inference, "template", "spec")
    settings, home = _settings(inference, source)
    if pod is None:
        pod = mapped({"containers": listed([_container(inference, settings)])})
    count = whole(text_of(get(resource, "count")))
    copies = found.at("/spec/replicas") if found.kind == "InferenceSet" else None
    template = PodTemplate(
        pod,
        f"{_PARTS[found.kind]}/inference",
        unit="{container}",
        replicas=1 if copies is None else whole(text_of(copies)),
        group_size=count or 1,
        engine=None if get(inference, "template") else _name(inference),
        home=home,
    )
    for reading in read_pod(found, template, source):
        yield reading.having(
            unit=found.title,
            instance_type=text_of(get(resource, "instanceType")),
            node_selector=_selector(reading, resource),
            notes=(*reading.workload.notes, claim("note.defaults-of-controller", controller="KAITO")),
        )


def _name(inference: Node) -> str:
    return text_of(get(inference, "preset", "name")) or "workspace"


def _container(inference: Node, settings: Node | None) -> Node:
    words = [leaf("vllm"), leaf("serve"), get(inference, "preset", "name") or leaf("")]
    words += map(leaf, ("--gpu-memory-utilization", _UTILIZATION, "--max-model-len", "auto"))
    words += flags(settings, dashed)
    adapters = items(get(inference, "adapters"))
    words += [leaf("--enable-lora")] if adapters else []
    return mapped({"name": _name(inference), "command": listed(words)})


def _settings(inference: Node, source: Source) -> tuple[Node | None, Home | None]:
    """Follow ``config`` to the ConfigMap: vLLM's part of its file."""
    config_map = source.find("ConfigMap", text_of(get(inference, "config")))
    root = source.open(get(config_map.node, "data", _FILE)) if config_map else None
    settings = get(root, "vllm")
    if isinstance(settings, MappingNode):
        return settings, fields_home(root, "vllm", "dashed")
    return None, fields_home(root, "vllm", "dashed")


def _selector(reading: Reading, resource: Node | None) -> dict[str, str] | None:
    """Add the instance type, which the controller makes nodes of, to what the pod asks for."""
    instance = text_of(get(resource, "instanceType"))
    own = dict(reading.workload.node_selector or {})
    return {**own, **({"node.kubernetes.io/instance-type": instance} if instance else {})} or None
