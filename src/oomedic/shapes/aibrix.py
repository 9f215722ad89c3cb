"""AIBrix: StormService, RoleSet and PodSet hold pods per role; batch templates stand as a list in a ConfigMap.

A model of AIBrix that is a plain Deployment with labels is read as a Deployment.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from oomedic.kube.objects import KubeObject
from oomedic.workloads.devices import whole
from oomedic.workloads.home import fields_home
from oomedic.workloads.pod_spec import PodTemplate, read_pod
from oomedic.workloads.reading import Count, Reading
from oomedic.workloads.source import Source
from oomedic.yamldoc.nodes import MappingNode, Node, ScalarNode, get, items, text_of
from oomedic.yamldoc.rendered import dashed, flags, joined, leaf, listed, mapped

_ROLES: Final = {"StormService": "/spec/template/spec/roles", "RoleSet": "/spec/roles"}
_GROUP: Final = "orchestration.aibrix.ai"
_SIZES: Final = (("tp", "--tensor-parallel-size"), ("pp", "--pipeline-parallel-size"), ("dp", "--data-parallel-size"))
_GPU: Final = "nvidia.com/gpu"
_FILE: Final = "templates.yaml"


def recognises(found: KubeObject) -> bool:
    """Tell whether this is one of AIBrix' own objects, or a ConfigMap with its batch templates."""
    if found.kind in {*_ROLES, "PodSet"}:
        return found.group == _GROUP
    text = text_of(found.at(f"/data/{_FILE}")) if found.kind == "ConfigMap" else None
    return text is not None and "engine_args" in text


def read(found: KubeObject, source: Source) -> Iterable[Reading]:
    """Return the engines of all roles, or of all templates."""
    if found.kind == "ConfigMap":
        yield from _templates(found, source)
    elif found.kind == "PodSet":
        template = PodTemplate(found.at("/spec/template/spec"), "/spec/template/spec")
        yield from read_pod(
            found, template._replace(group_size=whole(text_of(found.at("/spec/podGroupSize"))) or 1), source
        )
    else:
        yield from _roles(found, source)


def _roles(found: KubeObject, source: Source) -> Iterator[Reading]:
    pointer = _ROLES[found.kind]
    sets = found.at("/spec/replicas") if found.kind == "StormService" else None
    copies = 1 if sets is None else whole(text_of(sets))
    for index, role in enumerate(items(found.at(pointer))):
        replicas = get(role, "replicas")
        number = 1 if replicas is None else whole(text_of(replicas))
        name = text_of(get(role, "name")) or str(index)
        template = PodTemplate(
            get(role, "template", "spec"),
            f"{pointer}/{index}/template/spec",
            unit=f"{name}/{{container}}",
            replicas=None if number is None or copies is None else number * copies,
            group_size=whole(text_of(get(role, "podGroupSize"))) or 1,
        )
        for reading in read_pod(found, template, source):
            yield reading.having(role=name if name in {"prefill", "decode"} else None)


def _templates(found: KubeObject, source: Source) -> Iterator[Reading]:
    source.atlas.take(found)
    root = source.open(found.at(f"/data/{_FILE}"))
    for index, entry in enumerate(items(root)):
        spec = get(entry, "spec")
        if text_of(get(spec, "engine", "type")) in {None, "vllm"} and isinstance(spec, MappingNode):
            yield from _template(found, index, spec, source)


def _template(found: KubeObject, index: int, spec: Node, source: Source) -> Iterator[Reading]:
    settings = get(spec, "engine_args")
    count = get(spec, "accelerator", "count")
    devices = mapped({_GPU: count})
    model = get(spec, "model_source", "uri")
    words = [leaf("vllm"), leaf("serve"), model or leaf(""), *items(get(spec, "engine", "serve_args"))]
    for key, flag in _SIZES:
        size = get(spec, "parallelism", key)
        words += [leaf(flag, size), size] if size is not None else []
    words += flags(settings, dashed)
    for key, flag in (("weight", "--quantization"), ("kv_cache", "--kv-cache-dtype")):
        value = get(spec, "quantization", key)
        words += [leaf(flag, value), value] if isinstance(value, ScalarNode) else []
    container = mapped(
        {
            "name": "engine",
            "image": get(spec, "engine", "image"),
            "command": joined(listed(words)),
            "resources": mapped({"limits": devices}),
        }
    )
    home = fields_home(spec, "engine_args", "snake")
    template = PodTemplate(mapped({"containers": listed([container])}), f"/data/{index}", f"[{index}]", home=home)
    for reading in read_pod(found, template, source):
        instance = (text_of(get(spec, "accelerator", "sku_hint")) or "").partition("/")[2]
        counts = (Count(count),) if isinstance(count, ScalarNode) else ()
        yield reading._replace(counts=counts).having(instance_type=instance or None)
