"""KServe InferenceService: its own settings upon those of the serving runtime that it names or that fits its format.

The runtime brings the container, /dev/shm and the first arguments; the service's arguments follow. The controller turns
``workerSpec`` into the variables TENSOR_PARALLEL_SIZE and PIPELINE_PARALLEL_SIZE. A runtime of its own stands in the
same manifest or is one of those that KServe ships (config/runtimes).
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from oomedic.claim import Claim, claim
from oomedic.kube.objects import KubeObject
from oomedic.models.uri import read_model_uri
from oomedic.workloads.devices import whole
from oomedic.workloads.home import list_home
from oomedic.workloads.pod_facts import strategy
from oomedic.workloads.pod_spec import PodTemplate, read_pod
from oomedic.workloads.reading import Reading
from oomedic.workloads.source import Source
from oomedic.yamldoc.nodes import MappingNode, Node, ScalarNode, fields, get, items, text_of
from oomedic.yamldoc.rendered import joined, leaf, listed, mapped, merged, variable

_GROUP: Final = "serving.kserve.io"
_CONTAINER: Final = "kserve-container"
_MOUNTED: Final = "/mnt/models"
_VLLM: Final = frozenset(("huggingface", "vllm"))
"""Formats whose runtimes run vLLM; of all others the container tells."""
_NAME: Final = re.compile(r"\{\{\s*\.(?:ObjectMeta\.)?Name\s*\}\}")
_RUNTIMES: Final = ("ServingRuntime", "ClusterServingRuntime")
_OWN_FLAGS: Final = frozenset(
    (
        *("--backend", "--http-port", "--grpc-port", "--workers", "--task", "--tensor-input-names", "--predictor-host"),
        *("--return-token-type-ids", "--return-probabilities", "--disable-lower-case", "--disable-special-tokens"),
        *("--add-generation-prompt", "--enable-docs-url", "--max-log-len", "--tokenizer-revision", "--model-revision"),
    )
)
"""Flags of Hugging Face's server beside vLLM's (python/huggingfaceserver/huggingfaceserver/__main__.py)."""
_SHM: Final = mapped({"name": "devshm", "mountPath": "/dev/shm"})  # noqa: S108 - a mount path
_VOLUMES: Final = listed([mapped({"name": "devshm", "emptyDir": mapped({"medium": "Memory"})})])


def recognises(found: KubeObject) -> bool:
    """Tell whether this is an InferenceService."""
    return found.kind == "InferenceService" and found.group == _GROUP


def read(found: KubeObject, source: Source) -> Iterable[Reading]:
    """Return the engine of the predictor."""
    predictor = found.at("/spec/predictor")
    model = _model(predictor)
    if model is None and not items(get(predictor, "containers")):
        return
    runtime = _runtime(model, source)
    worker = get(predictor, "workerSpec")
    minimum = text_of(get(predictor, "minReplicas"))
    template = PodTemplate(
        _pod(found, predictor, model, runtime) if model else predictor,
        "/spec/predictor",
        unit="predictor" if worker or model is None else "predictor.model",
        replicas=max(1, whole(minimum) or 0),
        strategy=strategy(get(predictor, "deploymentStrategy"), ("25%", "25%")),
        engine=_CONTAINER if _form(model) in _VLLM else None,
        home=list_home(model, "args"),
    )
    for reading in read_pod(found, template, source):
        yield _grouped(reading.having(notes=reading.workload.notes + tuple(_notes(reading))), model)


def _model(predictor: Node | None) -> Node | None:
    """Return the model, in today's form or under the name of its format."""
    model = get(predictor, "model")
    older = get(predictor, "huggingface")
    if model is None and older is not None:
        return merged(mapped({"modelFormat": mapped({"name": "huggingface"})}), older)
    return model


def _runtime(model: Node | None, source: Source) -> Node:
    """Return the runtime's spec: the one that is named, one that fits the format, or the one that KServe ships."""
    name, form = text_of(get(model, "runtime")), _form(model)
    for kind in _RUNTIMES:
        found = source.find(kind, name)
        spec = get(found.node, "spec") if found else None
        if spec is not None:
            return spec
    for kind in _RUNTIMES if name is None else ():
        fitting = [each for each in source.of_kind(kind) if form in _formats(each)]
        spec = get(fitting[0].node, "spec") if len(fitting) == 1 else None
        if spec is not None:
            return spec
    return _shipped(form)


def _form(model: Node | None) -> str:
    return (text_of(get(model, "modelFormat", "name")) or "").lower()


def _formats(runtime: KubeObject) -> list[str]:
    return [(text_of(get(each, "name")) or "").lower() for each in items(runtime.at("/spec/supportedModelFormats"))]


def _shipped(form: str) -> Node:
    """Return KServe's own runtime for a format; without resources of the service it has 1 CPU and 2Gi."""
    amounts = mapped({"cpu": "1", "memory": "2Gi"})
    container: dict[str, Node | str | None] = {
        "name": _CONTAINER,
        "image": "kserve/huggingfaceserver",
        "args": listed([leaf("--model_name={{.Name}}")]),
        "resources": mapped({"requests": amounts, "limits": amounts}),
        "volumeMounts": listed([_SHM]),
    }
    if form not in _VLLM:
        return mapped({"containers": listed([])})
    if form == "vllm":
        words = ("python", "-m", "vllm.entrypoints.openai.api_server")
        arguments = ("--port=8080", "--served-model-name={{.Name}}", f"--model={_MOUNTED}")
        probe = {"periodSeconds": "30", "failureThreshold": "60", "initialDelaySeconds": "30"}
        container |= {"image": None, "command": listed(map(leaf, words)), "args": listed(map(leaf, arguments))}
        container |= {"startupProbe": mapped({**probe, "httpGet": mapped({"path": "/v1/models"})})}
    return mapped({"containers": listed([mapped(container)]), "volumes": _VOLUMES})


def _pod(found: KubeObject, predictor: Node | None, model: Node, runtime: Node) -> Node:
    base = next((each for each in items(get(runtime, "containers")) if text_of(get(each, "name")) == _CONTAINER), None)
    own = MappingNode(
        tuple((key, value) for key, value in _pairs(model) if isinstance(key, ScalarNode) and key.value != "args"),
        *(-1, -1),
        flow=True,
    )
    container: Node | None = merged(base or mapped({"name": _CONTAINER}), own)
    arguments = [_named(each, found.name) for each in items(get(base, "args"))]
    container = merged(
        container,
        mapped(
            {
                "args": listed([*arguments, *_source_arguments(model, base), *items(get(model, "args"))]),
                "env": joined(get(container, "env"), listed(_variables(predictor, model))),
                "name": _CONTAINER,
            }
        ),
    )
    return merged(
        merged(runtime, predictor), mapped({"containers": listed([container] if container else [])})
    ) or mapped({})


def _pairs(model: Node) -> Iterator[tuple[Node, Node]]:
    if isinstance(model, MappingNode):
        yield from ((leaf(key), value) for key, value in fields(model).items())


def _named(argument: Node, name: str) -> Node:
    """Fill in the one name that runtimes take from the service."""
    if isinstance(argument, ScalarNode) and _NAME.search(argument.value):
        return leaf(_NAME.sub(name, argument.value))
    return argument


def _source_arguments(model: Node, base: Node | None) -> Iterator[Node]:
    """Say that a model of ``storageUri`` lies where the storage initializer puts it."""
    words = [
        item.value for item in (*items(get(base, "args")), *items(get(model, "args"))) if isinstance(item, ScalarNode)
    ]
    named = any(
        word.startswith(("--model_id", "--model_dir", "--model-id", "--model-dir", "--model=")) for word in words
    )
    if get(model, "storageUri") is not None and not named and not items(get(base, "command")):
        yield leaf(f"--model_dir={_MOUNTED}")


def _variables(predictor: Node | None, model: Node) -> Iterator[Node]:
    if get(model, "storageUri") is not None:
        yield variable("MODEL_DIR", leaf(_MOUNTED, get(model, "storageUri")))
    for key, name in (
        ("tensorParallelSize", "TENSOR_PARALLEL_SIZE"),
        ("pipelineParallelSize", "PIPELINE_PARALLEL_SIZE"),
    ):
        size = get(predictor, "workerSpec", key)
        if size is not None:
            yield variable(name, size)


def _grouped(reading: Reading, model: Node | None) -> Reading:
    """Count the pods of a service with workers: as many as its ranks need."""
    workload = reading.workload
    sizes = [workload.arguments.given.get(name) for name in ("tensor_parallel_size", "pipeline_parallel_size")]
    ranks = [size.value for size in sizes if size and isinstance(size.value, int)]
    storage = text_of(get(model, "storageUri"))
    source = read_model_uri(storage) if storage else None
    if source and workload.model and workload.model.startswith("/"):
        reading = reading.having(model_hint=source.id or source.path)
    if len(ranks) < 2 or not workload.gpus_per_pod or workload.unit.endswith(".model"):
        return reading
    pods = max(1, ranks[0] * ranks[1] // workload.gpus_per_pod)
    total = workload.gpus_per_pod * pods * (workload.replicas or 1)
    return reading.having(group_size=pods, gpus_total=total)


def _notes(reading: Reading) -> Iterator[Claim]:
    """Tell of flags that Hugging Face's server does not know: it goes on without them (``parse_known_args``)."""
    running, image = reading.command.running, reading.workload.image or ""
    server = running.engine if running else ("huggingfaceserver" if "huggingfaceserver" in image else None)
    if server != "huggingfaceserver":
        return
    dropped = tuple(flag for flag in reading.workload.arguments.unknown if flag.replace("_", "-") not in _OWN_FLAGS)
    if dropped:
        yield claim("note.flags-dropped", flags=dropped)
    backend = [word.text.partition("=")[2] for word in reading.command.words if word.text.startswith("--backend=")]
    if not backend or backend[-1] == "auto":
        yield claim("note.backend-auto")
