"""KServe LLMInferenceService: model, parallelism and a container named ``main``, upon configs that it refers to.

What runs is merged from KServe's own configs (config/llmisvcconfig), the ``baseRefs`` and the service, lists by name.
The command line has ``spec.parallelism`` first, then the variable VLLM_ADDITIONAL_ARGS, then the container's arguments;
the last one wins. That variable is made for additions.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from oomedic.arguments.given import Given
from oomedic.claim import claim
from oomedic.kube.objects import KubeObject
from oomedic.models.uri import read_model_uri
from oomedic.workloads.devices import least_memory, whole
from oomedic.workloads.home import Home
from oomedic.workloads.pod_spec import PodTemplate, read_pod
from oomedic.workloads.reading import Count, Reading
from oomedic.workloads.source import Source
from oomedic.workloads.workload import Strategy
from oomedic.yamldoc.nodes import MappingNode, Node, ScalarNode, fields, get, items, text_of
from oomedic.yamldoc.rendered import is_true, leaf, listed, mapped, merged, variable

_GROUP: Final = "serving.kserve.io"
_MAIN: Final = "main"
_MORE: Final = "VLLM_ADDITIONAL_ARGS"
_DRA: Final = "serving.kserve.io/exp-dra-"
_NAME: Final = re.compile(r"\{\{\s*\.Spec\.Model\.Name\s*\}\}")
_BRACES: Final = re.compile(r"\{\{[^{}]*\}\}")
_PARALLEL: Final = (
    ("tensor", "--tensor-parallel-size"),
    ("pipeline", "--pipeline-parallel-size"),
    ("data", "--data-parallel-size"),
    ("dataLocal", "--data-parallel-size-local"),
)


def recognises(found: KubeObject) -> bool:
    """Tell whether this is an LLMInferenceService."""
    return found.kind == "LLMInferenceService" and found.group == _GROUP


def read(found: KubeObject, source: Source) -> Iterable[Reading]:
    """Return the engine, and the one of the prefill pods where they are apart."""
    spec = found.at("/spec")
    merged_spec = spec
    for reference in reversed(items(get(spec, "baseRefs"))):
        config = source.find("LLMInferenceServiceConfig", text_of(get(reference, "name")))
        merged_spec = merged(get(config.node, "spec"), merged_spec) if config else merged_spec
    prefill = get(merged_spec, "prefill")
    yield from _read(found, spec, merged_spec, ("decode" if prefill else None, ""), source)
    if prefill is not None:
        whole_spec = merged(mapped({"model": get(merged_spec, "model")}), prefill)
        yield from _read(found, get(spec, "prefill"), whole_spec, ("prefill", "prefill."), source)


def _read(
    found: KubeObject, own: Node | None, spec: Node | None, part: tuple[str | None, str], source: Source
) -> Iterator[Reading]:
    role, prefix = part
    replicas = get(spec, "replicas")
    template = PodTemplate(
        _pod(spec),
        f"/spec/{prefix.replace('.', '/')}template",
        unit=f"{prefix}template.{_MAIN}",
        replicas=1 if replicas is None else whole(text_of(replicas)),
        strategy=Strategy("RollingUpdate", "25%", "25%", default=True),
        group_size=_pods(spec),
        engine=_MAIN,
        home=_home(own or found.at("/spec"), source),
    )
    for reading in read_pod(found, template, source):
        yield _with_devices(_with_model(reading, spec), found).having(
            role=role, notes=(*reading.workload.notes, claim("note.defaults-of-controller", controller="KServe"))
        )


def _pod(spec: Node | None) -> Node | None:
    """Return the pod as the controller merges it."""
    model = get(spec, "model")
    name, uri = text_of(get(model, "name")) or "", get(model, "uri")
    identifier = read_model_uri(text_of(uri) or "")
    served = f" --served-model-name '{name}'" if name else ""
    sizes = " ".join(f"{flag} $(PARALLELISM_{key.upper()})" for key, flag in _given_sizes(spec))
    expert = " --enable-expert-parallel" if is_true(get(spec, "parallelism", "expert")) else ""
    script = f'exec vllm serve $(MODEL_URI){served} --port 8000 {sizes}{expert} $({_MORE}) "$@"'
    base = mapped(
        {
            "name": _MAIN,
            "image": "ghcr.io/llm-d/llm-d-cuda",
            "command": listed([leaf("/bin/bash"), leaf("-c"), leaf(script), leaf("--")]),
            "startupProbe": _probe("10", "60"),
            "livenessProbe": _probe("10", "10"),
            "readinessProbe": _probe("1", "2"),
            "volumeMounts": listed([mapped({"name": "dshm", "mountPath": "/dev/shm"})]),  # noqa: S108 - a mount path
        }
    )
    volume = mapped({"name": "dshm", "emptyDir": mapped({"medium": "Memory", "sizeLimit": "1Gi"})})
    pod = mapped({"containers": listed([base]), "volumes": listed([volume])})
    pod_node = merged(pod, get(spec, "template"))
    known = listed(
        [
            variable("MODEL_URI", leaf(identifier.id or text_of(uri) or "", uri)),
            *(variable(f"PARALLELISM_{key.upper()}", _size(spec, key)) for key, _ in _given_sizes(spec)),
            variable(_MORE, ""),
        ]
    )
    containers = [_container(each, known, name) for each in items(get(pod_node, "containers"))]
    return merged(pod_node, mapped({"containers": listed(containers)}))


def _container(container: Node, known: Node, name: str) -> Node:
    """Add what the controller knows to the variables, and the name of the model to the texts that ask for it."""
    if text_of(get(container, "name")) != _MAIN:
        return container
    changes: dict[str, Node | str | None] = {"env": merged(known, get(container, "env"), "env")}
    for field in ("command", "args"):
        texts = items(get(container, field))
        if any(isinstance(item, ScalarNode) and "{{" in item.value for item in texts):
            changes[field] = listed(_named(item, name) for item in texts)
    return merged(container, mapped(changes)) or container


def _named(item: Node, name: str) -> Node:
    if not isinstance(item, ScalarNode) or "{{" not in item.value:
        return item
    return leaf(_BRACES.sub("", _NAME.sub(name, item.value)), item)


def _probe(period: str, failures: str) -> Node:
    path = mapped({"path": "/health", "port": "8000"})
    return mapped({"httpGet": path, "periodSeconds": period, "failureThreshold": failures})


def _given_sizes(spec: Node | None) -> Iterator[tuple[str, str]]:
    yield from ((key, flag) for key, flag in _PARALLEL if text_of(get(spec, "parallelism", key)))


def _size(spec: Node | None, key: str) -> Node | str:
    return get(spec, "parallelism", key) or ""


def _pods(spec: Node | None) -> int:
    """Return how many pods make one replica: as many as stages, or as groups of data-parallel ranks."""
    if get(spec, "worker") is None:
        return 1
    sizes = {key: whole(text_of(get(spec, "parallelism", key))) for key in ("pipeline", "data", "dataLocal")}
    data, local = sizes["data"], sizes["dataLocal"]
    return max(sizes["pipeline"] or 1, -(-data // local) if data and local else 1)


def _with_model(reading: Reading, spec: Node | None) -> Reading:
    """Name the model by where it comes from: the process itself serves a folder."""
    uri = get(spec, "model", "uri")
    written = text_of(uri)
    if written is None:
        return reading
    workload = reading.workload
    model = read_model_uri(written).id or written
    given = {**workload.arguments.given, "model": Given(model, "spec.model.uri")}
    environment = {name: value for name, value in workload.arguments.environment.items() if name != _MORE}
    spot = reading.source.spot(uri)
    places = {"model": spot.edit_path(uri)} if spot else {}
    cpu = whole(text_of(get(spec, "workload", "kvCacheOffloading", "cpu")))
    return reading.having(
        model=model,
        served_name=workload.served_name or text_of(get(spec, "model", "name")),
        arguments=workload.arguments._replace(given=given, environment=environment),
        edit_paths={**workload.edit_paths, **places},
        offload={**workload.offload, **({"kvCacheOffloading.cpu": cpu} if cpu else {})},
    )


def _with_devices(reading: Reading, found: KubeObject) -> Reading:
    """Read devices that are asked for by annotations, for which the controller writes a claim."""
    annotations = get(found.node, "metadata", "annotations")
    known = fields(annotations)
    device_class, count = known.get(f"{_DRA}device-class"), known.get(f"{_DRA}device-count")
    if text_of(device_class) is None or reading.workload.gpu_resource is not None:
        return reading
    number = whole(text_of(count)) if count is not None else 1
    selector = text_of(known.get(f"{_DRA}cel-selector"))
    resource = f"dra:{text_of(device_class)}"
    spot = reading.source.spot(count)
    places = {resource: spot.edit_path(count)} if spot else {}
    workload = reading.workload
    total = None if number is None or workload.replicas is None else number * workload.replicas * workload.group_size
    reading = reading._replace(counts=(Count(count),) if isinstance(count, ScalarNode) else ())
    return reading.having(
        gpu_resource=resource,
        gpus_per_pod=number,
        gpus_total=total,
        device_memory=least_memory(selector) if selector else None,
        edit_paths={**workload.edit_paths, **places},
    )


def _home(own: Node | None, source: Source) -> Home | None:
    """Return the place of additions: the variable that is made for them, in the service itself."""
    if not isinstance(own, MappingNode):
        return None
    template = get(own, "template")
    container = next((each for each in items(get(template, "containers")) if text_of(get(each, "name")) == _MAIN), None)
    if container is None:
        keys = ("containers",) if isinstance(template, MappingNode) and get(template, "containers") is None else None
        if template is None:
            return Home("variable", own, ("template", "containers"), name=_MORE)
        return Home("variable", template, keys, name=_MORE) if keys else None
    entries = get(container, "env")
    for entry in items(entries):
        value = get(entry, "value")
        if text_of(get(entry, "name")) == _MORE and isinstance(value, ScalarNode) and source.spot(value):
            return Home("text", value)
    return (
        Home("variable", container, ("env",), name=_MORE) if entries is None else Home("variable", entries, name=_MORE)
    )
