"""Values of the llm-d modelservice chart: decode and prefill pods, parallelism as fields, containers with arguments.

The chart writes model, port and parallel sizes in front of a container's own arguments, and asks for tensor x dataLocal
GPUs unless the container's limits name them already (charts/llm-d-modelservice/templates/_helpers.tpl). Decode listens
on 8200, behind a proxy. ``multinode`` makes a LeaderWorkerSet of the Deployment.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from oomedic.claim import Claim, claim
from oomedic.kube.objects import KubeObject
from oomedic.models.uri import ModelUri, read_model_uri
from oomedic.workloads.devices import whole
from oomedic.workloads.helm_values import filled_in
from oomedic.workloads.home import list_home
from oomedic.workloads.pod_facts import strategy
from oomedic.workloads.pod_spec import PodTemplate, read_pod
from oomedic.workloads.reading import Count, Reading
from oomedic.workloads.source import Source
from oomedic.yamldoc.nodes import Node, ScalarNode, fields, get, items, text_of
from oomedic.yamldoc.rendered import is_false, is_true, joined, leaf, listed, mapped, merged, variable

_ROLES: Final = ("decode", "prefill")
_GPU: Final = "nvidia.com/gpu"
_RESOURCES: Final = {
    "nvidia": _GPU,
    "amd": "amd.com/gpu",
    "google": "google.com/tpu",
    "intel-gaudi": "habana.ai/gaudi",
    "intel-i915": "gpu.intel.com/i915",
    "intel-xe": "gpu.intel.com/xe",
    "rebellions-atom": "rebellions.ai/ATOM",
}
_CLASSES: Final = {
    "nvidia": "gpu.nvidia.com",
    "amd": "gpu.amd.com",
    "google": "tpu.google.com",
    "intel-gaudi": "gaudi.intel.com",
    **dict.fromkeys(("intel", "intel-i915", "intel-xe"), "gpu.intel.com"),
}
"""Classes of devices of the chart's own claim templates, by the type of accelerator."""
_CLAIM: Final = "accelerator"


def recognises(found: KubeObject) -> bool:
    """Tell whether these are values of the chart."""
    keys = fields(found.node)
    return not found.kind and "modelArtifacts" in keys and ("decode" in keys or "prefill" in keys)


def read(found: KubeObject, source: Source) -> Iterable[Reading]:
    """Return the engines of both roles; a role that is switched off is left out."""
    for role in _ROLES:
        part = get(found.node, role)
        if part is not None and not is_false(get(part, "create")):
            yield from _role(found, role, part, source)


def _role(found: KubeObject, role: str, part: Node, source: Source) -> Iterator[Reading]:
    values = found.node
    pods = _pods(get(part, "parallelism")) if is_true(get(values, "multinode")) else 1
    replicas = get(part, "replicas")
    for index, container in enumerate(items(get(part, "containers"))):
        template = PodTemplate(
            _pod(values, role, part, container),
            f"/{role}/containers/{index}",
            unit=f"{role}.containers[{index}]",
            replicas=1 if replicas is None else whole(text_of(replicas)),
            strategy=strategy(get(part, "strategy"), ("25%", "25%")),
            group_size=pods,
            home=list_home(container, "args"),
        )
        for reading in read_pod(found, template, source):
            yield _with_devices(reading, part).having(
                role=role,
                port=_port(values, role),
                notes=(*reading.workload.notes, *_notes(part, container)),
            )


def _pod(values: Node, role: str, part: Node, container: Node) -> Node:
    own = merged(container, get(container, "extraConfig")) or container
    changes = {
        "command": listed(_command(values, role, part, container)),
        "args": listed([]),
        "env": filled_in(joined(get(own, "env"), listed(_variables(part))), values),
        "resources": _resources(values, part, container),
    }
    engine = merged(own, mapped(changes)) or own
    pod = mapped(
        {
            "containers": listed([engine]),
            "volumes": get(part, "volumes"),
            "initContainers": get(part, "initContainers"),
            "affinity": _affinity(part),
            "nodeSelector": get(part, "nodeSelector"),
            "tolerations": get(part, "tolerations"),
            "resourceClaims": joined(get(part, "resourceClaims"), listed(_claims(values, part))),
        }
    )
    return merged(pod, get(part, "extraConfig")) or pod


def _command(values: Node, role: str, part: Node, container: Node) -> Iterator[Node]:
    way = text_of(get(container, "modelCommand")) or "custom"
    own = [filled_in(each, values) or each for each in items(get(container, "args"))]
    if way == "custom":
        yield from (filled_in(each, values) or each for each in items(get(container, "command")))
        yield from own
        return
    uri = filled_in(get(values, "modelArtifacts", "uri"), values)
    model = read_model_uri(text_of(uri) or "")
    yield from (leaf("vllm"), leaf("serve"), leaf(_loaded(model, values), get(values, "modelArtifacts", "uri")))
    yield from map(leaf, ("--port", str(_port(values, role))))
    for flag, size in _sizes(get(part, "parallelism")):
        yield from (leaf(flag, size), size)
    name = get(values, "modelArtifacts", "name")
    if name is not None:
        yield from (leaf("--served-model-name"), filled_in(name, values) or name)
    yield from own


def _loaded(model: ModelUri, values: Node) -> str:
    """Return what the process loads: an id, or a folder on the volume."""
    if model.id is not None:
        return model.id
    mounted = text_of(get(values, "modelArtifacts", "mountPath")) or "/model-cache"
    return f"{mounted}/{model.path.partition('/')[2]}" if model.scheme == "pvc" else model.path


def _sizes(parallelism: Node | None) -> Iterator[tuple[str, Node]]:
    """Yield the sizes that are written; the chart leaves out those of one, which changes nothing."""
    for key, flag in (
        ("tensor", "--tensor-parallel-size"),
        ("data", "--data-parallel-size"),
        ("dataLocal", "--data-parallel-size-local"),
    ):
        size = get(parallelism, key)
        if text_of(size) is not None and size is not None:
            yield flag, size


def _variables(part: Node) -> Iterator[Node]:
    sizes = get(part, "parallelism")
    yield variable("TP_SIZE", text_of(get(sizes, "tensor")) or "1")
    yield variable("DP_SIZE", text_of(get(sizes, "data")) or "1")
    yield variable("DP_SIZE_LOCAL", str(_local(sizes)))


def _port(values: Node, role: str) -> int:
    service = whole(text_of(get(values, "routing", "servicePort"))) or 8000
    if role == "prefill" or is_false(get(values, "routing", "proxy", "enabled")):
        return service
    return whole(text_of(get(values, "routing", "proxy", "targetPort"))) or 8200


def _local(sizes: Node | None) -> int:
    """Return the data-parallel ranks of one pod."""
    data, local, workers = (whole(text_of(get(sizes, key))) for key in ("data", "dataLocal", "workers"))
    if local:
        return local
    return max(1, (data or 1) // (workers or 1))


def _pods(sizes: Node | None) -> int:
    data, workers = (whole(text_of(get(sizes, key))) for key in ("data", "workers"))
    return workers or max(1, (data or 1) // _local(sizes))


def _resources(values: Node, part: Node, container: Node) -> Node:
    """Add the GPUs that the chart computes to what the container asks for."""
    kind, given = _kind(values, part), get(container, "resources")
    resource = text_of(get(values, "accelerator", "resources", kind)) or _RESOURCES.get(kind, _GPU)
    if _by_claim(values, part):
        claims = joined(get(given, "claims"), listed([mapped({"name": _CLAIM})]))
        return merged(given, mapped({"claims": claims})) or mapped({"claims": claims})
    if kind == "cpu":
        return given or mapped({})
    number = _number(part)
    computed = {
        field: mapped({resource: number})
        for field in ("limits", "requests")
        if resource not in fields(get(given, field))
    }
    return merged(mapped(computed), given) or mapped(computed)


def _kind(values: Node, part: Node) -> str:
    """Return the type of accelerator: of the role, else of all roles."""
    return text_of(get(part, "accelerator", "type")) or text_of(get(values, "accelerator", "type")) or "nvidia"


def _by_claim(values: Node, part: Node) -> bool:
    """Tell whether devices come from a claim rather than from a device plugin."""
    own = get(part, "accelerator", "dra")
    return is_true(own if own is not None else get(values, "accelerator", "dra"))


def _number(part: Node) -> Node:
    sizes = get(part, "parallelism")
    return leaf(str((whole(text_of(get(sizes, "tensor"))) or 1) * _local(sizes)))


def _claims(values: Node, part: Node) -> Iterator[Node]:
    """Yield the claim that the chart makes a template of: so many devices as parallelism needs, or a count."""
    if not _by_claim(values, part):
        return
    kind = _kind(values, part)
    given = get(values, "accelerator", "resourceClaimTemplates", kind)
    exactly = {
        "deviceClassName": get(given, "class") or _CLASSES.get(kind, f"gpu.{kind}.com"),
        "count": get(given, "count") or _number(part),
        "selectors": get(given, "selectors"),
    }
    requests = listed([mapped({"name": kind, "exactly": mapped(exactly)})])
    yield mapped({"name": _CLAIM, "spec": mapped({"devices": mapped({"requests": requests})})})


def _with_devices(reading: Reading, part: Node) -> Reading:
    """Say where the number of GPUs is decided: the container's limits, else the tensor parallelism."""
    if any(count.leaf.event >= 0 for count in reading.counts):
        return reading._replace(counts=tuple(count for count in reading.counts if count.leaf.event >= 0))
    tensor = get(part, "parallelism", "tensor")
    resource, spot = reading.workload.gpu_resource, reading.source.spot(tensor)
    if not isinstance(tensor, ScalarNode) or spot is None or resource is None:
        return reading._replace(counts=())
    paths = {**reading.workload.edit_paths, resource: spot.edit_path(tensor)}
    return reading._replace(counts=(Count(tensor),)).having(edit_paths=paths)


def _affinity(part: Node) -> Node | None:
    key, values = get(part, "acceleratorTypes", "labelKey"), get(part, "acceleratorTypes", "labelValues")
    if not text_of(key):
        return get(part, "affinity")
    expression = mapped({"key": key, "operator": "In", "values": values})
    term = mapped({"matchExpressions": listed([expression])})
    required = mapped({"nodeSelectorTerms": listed([term])})
    return mapped({"nodeAffinity": mapped({"requiredDuringSchedulingIgnoredDuringExecution": required})})


def _notes(part: Node, container: Node) -> Iterator[Claim]:
    for entry in items(get(container, "env")):
        if text_of(get(entry, "name")) == "CUDA_VISIBLE_DEVICES":
            yield claim("note.devices-pinned", value=text_of(get(entry, "value")) or "")
    if get(container, "resources", "limits", _GPU) is not None and get(part, "parallelism", "tensor") is not None:
        yield claim("note.limits-win-over-parallelism")
