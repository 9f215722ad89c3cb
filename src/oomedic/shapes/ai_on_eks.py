"""Values of the AWS ai-on-eks inference charts: ``modelParameters`` in camel case become flags of one shell line.

The template is ``vllm serve MODEL --flag value …`` with every key in alphabetical order; tensor_parallel_size is the
number of GPUs where it is not given (charts/inference-charts/templates/_helpers.tpl). A switch that is false is written
as a word, which vLLM refuses. With the framework ``ray-vllm`` the keys become variables of a program that reads only
some of them.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from oomedic.claim import Claim, claim
from oomedic.kube.objects import KubeObject
from oomedic.workloads.devices import whole
from oomedic.workloads.home import fields_home
from oomedic.workloads.pod_facts import strategy
from oomedic.workloads.pod_spec import PodTemplate, read_pod
from oomedic.workloads.reading import Count, Reading
from oomedic.workloads.source import Source
from oomedic.yamldoc.nodes import Node, ScalarNode, fields, get, text_of
from oomedic.yamldoc.rendered import entries, joined, kebab, leaf, listed, mapped

_FRAMEWORKS: Final = frozenset(("vllm", "aibrix", "lws-vllm", "ray-vllm", "triton-vllm"))
_GPU: Final = "nvidia.com/gpu"
_NEURON: Final = "aws.amazon.com/neuron"
_PROBE: Final = {"failureThreshold": "60", "periodSeconds": "10"}
_READ_BY_RAY: Final = frozenset(
    (
        *("gpuMemoryUtilization", "maxModelLen", "maxNumBatchedTokens", "pipelineParallelSize", "tensorParallelSize"),
        *("servedModelName", "enablePrefixCaching", "tokenizerPoolSize"),
    )
)
"""What templates/ray-vllm-configmap.yaml reads; it asks for MAX_NUM_SEQ, which no key becomes."""


def recognises(found: KubeObject) -> bool:
    """Tell whether these are values of the inference charts."""
    keys = fields(found.node)
    framework = text_of(get(found.node, "inference", "framework"))
    return not found.kind and "inference" in keys and ("modelParameters" in keys or framework is not None)


def read(found: KubeObject, source: Source) -> Iterable[Reading]:
    """Return the engine; frameworks that are not vLLM are declined."""
    values = found.node
    framework = text_of(get(values, "inference", "framework")) or "vllm"
    deployment = get(values, "inference", "modelServer", "deployment")
    parameters = get(values, "modelParameters")
    stages = whole(text_of(get(parameters, "pipelineParallelSize"))) if framework == "lws-vllm" else None
    replicas = get(deployment, "replicas")
    template = PodTemplate(
        _pod(values, framework),
        "/inference",
        unit="modelParameters",
        replicas=1 if replicas is None else whole(text_of(replicas)),
        strategy=strategy(None, ("25%", "25%")) if framework in {"vllm", "aibrix"} else None,
        group_size=stages or 1,
        engine="vllm",
        home=fields_home(values, "modelParameters", "camel"),
    )
    for reading in read_pod(found, template, source):
        shown = reading if framework in _FRAMEWORKS else _declined(reading, framework)
        yield shown._replace(counts=_counts(values) or reading.counts).having(
            instance_type=text_of(get(deployment, "instanceType")),
            notes=(*reading.workload.notes, *_notes(parameters, framework)),
        )


def _pod(values: Node, framework: str) -> Node:
    server = get(values, "inference", "modelServer")
    deployment = get(server, "deployment")
    repository, tag = text_of(get(server, "image", "repository")), text_of(get(server, "image", "tag"))
    ray_version = text_of(get(server, "vllmVersion"))
    image = f"{repository or 'vllm/vllm-openai'}:{tag or 'latest'}"
    instance = get(deployment, "instanceType")
    shm = mapped({"medium": "Memory", "sizeLimit": "15Gi" if framework == "lws-vllm" else None})
    on_ray = framework == "ray-vllm"
    container = {
        "name": "vllm",
        "image": f"vllm/vllm-openai:v{ray_version}" if on_ray and ray_version else image,
        "command": listed(_command(values, framework)),
        "env": joined(listed(entries(get(server, "env")))),
        "resources": _resources(values),
        "startupProbe": None if on_ray else get(deployment, "startupProbe") or mapped(_PROBE),
        "volumeMounts": listed([] if on_ray else [mapped({"name": "dshm", "mountPath": "/dev/shm"})]),  # noqa: S108 - a mount path
    }
    return mapped(
        {
            "containers": listed([mapped(container)]),
            "volumes": listed([] if on_ray else [mapped({"name": "dshm", "emptyDir": shm})]),
            "nodeSelector": mapped({"node.kubernetes.io/instance-type": instance}) if text_of(instance) else None,
        }
    )


def _command(values: Node, framework: str) -> Iterator[Node]:
    """Yield the command line; keys come in alphabetical order, as Go's templates walk over a mapping."""
    parameters = fields(get(values, "modelParameters"))
    yield from (leaf("vllm"), leaf("serve"), get(values, "model") or leaf(""))
    for key in sorted(parameters):
        value = parameters[key]
        if isinstance(value, ScalarNode) and (framework != "ray-vllm" or key in _READ_BY_RAY):
            yield leaf(kebab(key), value)
            yield from [value] if value.value else []  # the shell drops what is empty
    load_format = get(values, "vllm", "loadFormat")
    if text_of(load_format) is not None and load_format is not None:
        yield from (leaf("--load-format", load_format), load_format)
    if framework == "ray-vllm":
        yield leaf("--enforce-eager")
        yield leaf("--no-enable-chunked-prefill")
    elif not text_of(parameters.get("tensorParallelSize")):
        gpus = _asked(values)
        yield from (leaf("--tensor-parallel-size"), leaf(text_of(gpus) or "1", gpus))


def _resources(values: Node) -> Node:
    server = get(values, "inference", "modelServer", "deployment", "resources")
    neuron = text_of(get(values, "inference", "accelerator")) == "neuron"
    given = get(server, "neuron" if neuron else "gpu")
    one = mapped({_NEURON if neuron else _GPU: "1"})
    return given or mapped({"requests": one, "limits": one})


def _asked(values: Node) -> Node | None:
    return get(_resources(values), "requests", _GPU) or get(_resources(values), "limits", _GPU)


def _counts(values: Node) -> tuple[Count, ...]:
    asked = (get(_resources(values), field, _GPU) for field in ("limits", "requests"))
    return tuple(Count(each) for each in asked if isinstance(each, ScalarNode) and each.event >= 0)


def _notes(parameters: Node | None, framework: str) -> Iterator[Claim]:
    for key, value in fields(parameters).items():
        text = (text_of(value) or "").lower()
        if framework == "ray-vllm" and key not in _READ_BY_RAY:
            yield claim("note.value-ignored", key=f"modelParameters.{key}", instead="modelParameters")
        elif text in {"true", "false"} and isinstance(value, ScalarNode) and not value.style:
            yield claim("note.switch-as-word", key=f"modelParameters.{key}", value=text)
        elif isinstance(value, ScalarNode) and not value.style and text.replace(".", "", 1).isdigit() and "." in text:
            yield claim("note.number-unquoted", key=f"modelParameters.{key}", value=text)


def _declined(reading: Reading, framework: str) -> Reading:
    because = claim("workload.engine-unsupported", engine=framework)
    return reading.having(engine=framework, supported=False, because=because)
