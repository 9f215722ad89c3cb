"""NVIDIA Dynamo's DynamoGraphDeployment: services of which the workers run vLLM (``python3 -m dynamo.vllm``).

Up to v1alpha1 a service has ``resources.limits.gpu``, which the operator turns into nvidia.com/gpu,
``sharedMemory.size`` and a container under ``extraPodSpec.mainContainer``; v1beta1 has components with whole pod
templates.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from oomedic.kube.objects import KubeObject
from oomedic.workloads.devices import whole
from oomedic.workloads.home import Home
from oomedic.workloads.pod_spec import PodTemplate, read_pod
from oomedic.workloads.reading import Count, Reading
from oomedic.workloads.source import Source
from oomedic.yamldoc.nodes import MappingNode, Node, ScalarNode, fields, get, items, text_of
from oomedic.yamldoc.rendered import joined, leaf, listed, mapped, merged

_KINDS: Final = frozenset(("DynamoGraphDeployment", "DynamoComponentDeployment"))
_GPU: Final = "nvidia.com/gpu"
_NAMES: Final = {"gpu": _GPU}
_MAIN: Final = "main"
_SHM: Final = "shm"
_NOT_ENGINES: Final = frozenset(("frontend", "planner", "epp"))


def recognises(found: KubeObject) -> bool:
    """Tell whether this is a graph of Dynamo."""
    return found.kind in _KINDS and found.group == "nvidia.com"


def read(found: KubeObject, source: Source) -> Iterable[Reading]:
    """Return one engine per service that runs one."""
    spec = found.at("/spec")
    for name, service in fields(get(spec, "services")).items():
        if text_of(get(service, "componentType")) not in _NOT_ENGINES:
            yield from _service(found, f"services.{name}", _with_shared(spec, service), source)
    for index, component in enumerate(items(get(spec, "components"))):
        if text_of(get(component, "type")) not in _NOT_ENGINES:
            name = text_of(get(component, "name")) or str(index)
            yield from _read(found, f"components.{name}", component, (_component_pod(component), None), source)
    if found.kind == "DynamoComponentDeployment":
        yield from _service(found, "", spec, source)


def _component_pod(component: Node) -> Node | None:
    """Add to a component's pod what the operator does: shared memory, and the devices of ``device``."""
    own, device = get(component, "podTemplate", "spec"), get(component, "device")
    size = get(component, "sharedMemorySize")
    asked = get(device, "resources")
    added = mapped(
        {
            "resources": mapped({"limits": asked}) if asked is not None else None,
            "volumeMounts": _mounts(disabled=text_of(size) == "0"),
        }
    )
    containers = [
        merged(added, each) if text_of(get(each, "name")) == _MAIN else each for each in items(get(own, "containers"))
    ]
    known = listed(each for each in containers if each is not None)
    placing = {name: get(device, name) for name in ("nodeSelector", "tolerations")}
    pod = merged(mapped({"volumes": _volumes(size), **placing}), own) if own is not None else None
    return merged(pod, mapped({"containers": known})) if pod is not None and known.items else own


def _mounts(*, disabled: bool) -> Node:
    return listed([] if disabled else [mapped({"name": _SHM, "mountPath": "/dev/shm"})])  # noqa: S108 - a mount path


def _volumes(size: Node | None) -> Node:
    memory = mapped({"medium": "Memory", "sizeLimit": size or leaf("8Gi")})
    return listed([mapped({"name": _SHM, "emptyDir": memory})])


def _with_shared(spec: Node | None, service: Node) -> Node:
    """Put the variables of the graph in front of the service's own."""
    shared = get(spec, "envs")
    return (
        service
        if shared is None
        else merged(service, mapped({"envs": joined(shared, get(service, "envs"))})) or service
    )


def _service(found: KubeObject, path: str, service: Node | None, source: Source) -> Iterator[Reading]:
    own = get(service, "extraPodSpec")
    main = get(own, "mainContainer")
    size = get(service, "sharedMemory", "size")
    disabled = text_of(get(service, "sharedMemory", "disabled")) == "true"
    container = merged(
        mapped(
            {
                "name": _MAIN,
                "resources": mapped(
                    {field: _resources(get(service, "resources", field)) for field in ("limits", "requests")}
                ),
                "env": joined(get(service, "envs"), get(main, "env")),
                "volumeMounts": _mounts(disabled=disabled),
            }
        ),
        main,
    )
    pod = merged(mapped({"containers": listed([container] if container else []), "volumes": _volumes(size)}), own)
    count = get(service, "resources", "limits", "gpu")
    counts = tuple(
        Count(leaf_)
        for field in ("limits", "requests")
        if isinstance(leaf_ := get(service, "resources", field, "gpu"), ScalarNode)
    )
    yield from (
        reading._replace(counts=counts) if count is not None else reading
        for reading in _read(found, path, service, (pod, _home(main)), source)
    )


def _resources(asked: Node | None) -> Node:
    return mapped({_NAMES.get(name, name): amount for name, amount in fields(asked).items()})


def _read(
    found: KubeObject, path: str, service: Node | None, pod: tuple[Node | None, Home | None], source: Source
) -> Iterator[Reading]:
    replicas = get(service, "replicas")
    template = PodTemplate(
        pod[0],
        f"/spec/{path.replace('.', '/')}",
        unit=path or "main",
        replicas=1 if replicas is None else whole(text_of(replicas)),
        group_size=whole(text_of(get(service, "multinode", "nodeCount"))) or 1,
        home=pod[1],
    )
    for reading in read_pod(found, template, source):
        if reading.command.running:
            yield reading.having(role=_role(reading, service))


def _role(reading: Reading, service: Node | None) -> str | None:
    """Tell prefill from decode: by the kind of the component, or by the flag that the process is given."""
    declared = text_of(get(service, "subComponentType"))
    if declared in {"prefill", "decode"}:
        return declared
    words = {word.text for word in reading.command.words}
    if "--is-prefill-worker" in words:
        return "prefill"
    mode = next((word.text for word in reading.command.words if word.text in {"prefill", "decode"}), None)
    if "--disaggregation-mode" in words:
        return mode
    return "decode" if "--is-decode-worker" in words else None


def _home(main: Node | None) -> Home | None:
    """Return None where arguments stand already: they are continued behind the last word."""
    if isinstance(main, MappingNode) and get(main, "args") is None and get(main, "command") is None:
        return Home("list", main, ("args",))
    return None
