"""VLLMRuntime (production-stack.vllm.ai): the operator's resource for one engine, with settings as fields.

Numbers may stand as texts (``gpuMemoryUtilization: "0.8"``). There is no field for shared memory.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from oomedic.kube.objects import KubeObject
from oomedic.workloads.devices import whole
from oomedic.workloads.home import Home, list_home
from oomedic.workloads.pod_spec import PodTemplate, read_pod
from oomedic.workloads.reading import Count, Reading
from oomedic.workloads.source import Source
from oomedic.workloads.workload import Strategy
from oomedic.yamldoc.nodes import MappingNode, Node, ScalarNode, get, items, text_of
from oomedic.yamldoc.rendered import is_true, leaf, listed, mapped, variable

_MODEL: Final = (("maxModelLen", "--max-model-len"), ("dtype", "--dtype"), ("maxNumSeqs", "--max-num-seqs"))
_VLLM: Final = (
    ("tensorParallelSize", "--tensor-parallel-size"),
    ("gpuMemoryUtilization", "--gpu-memory-utilization"),
    ("maxLoras", "--max-loras"),
)
_SWITCHES: Final = (
    ("enableChunkedPrefill", "--enable-chunked-prefill"),
    ("enablePrefixCaching", "--enable-prefix-caching"),
)
_GPU: Final = "nvidia.com/gpu"


def recognises(found: KubeObject) -> bool:
    """Tell whether this is a VLLMRuntime."""
    return found.kind == "VLLMRuntime" and found.group == "production-stack.vllm.ai"


def read(found: KubeObject, source: Source) -> Iterable[Reading]:
    """Return the engine."""
    spec = get(found.node, "spec")
    deployment = get(spec, "deploymentConfig")
    replicas = get(deployment, "replicas")
    strategy = text_of(get(deployment, "deploymentStrategy"))
    template = PodTemplate(
        mapped({"containers": listed([_container(spec)])}),
        "/spec",
        unit="{container}",
        replicas=1 if replicas is None else whole(text_of(replicas)),
        strategy=Strategy(strategy or "RollingUpdate", default=strategy is None),
        engine="vllm",
        home=_home(spec),
    )
    gpus = get(deployment, "resources", "gpu")
    for reading in read_pod(found, template, source):
        yield reading._replace(counts=(Count(gpus),) if isinstance(gpus, ScalarNode) else ())


def _container(spec: Node | None) -> Node:
    deployment = get(spec, "deploymentConfig")
    resources = get(deployment, "resources")
    gpu = text_of(get(resources, "gpuType")) or _GPU
    asked = mapped({"cpu": get(resources, "cpu"), "memory": get(resources, "memory"), gpu: get(resources, "gpu")})
    variables = [*items(get(spec, "vllmConfig", "env")), *_variables(spec)]
    return mapped(
        {
            "name": "vllm",
            "image": get(deployment, "image", "name"),
            "command": listed(_command(spec)),
            "env": listed(variables),
            "resources": mapped({"requests": asked, "limits": asked}),
        }
    )


def _command(spec: Node | None) -> Iterator[Node]:
    model, config = get(spec, "model"), get(spec, "vllmConfig")
    yield from (leaf("vllm"), leaf("serve"), get(model, "modelURL") or leaf(""))
    if is_true(get(model, "enableLoRA")):
        yield leaf("--enable-lora", get(model, "enableLoRA"))
    for key, flag in _SWITCHES:
        switch = get(config, key)
        if switch is not None:
            yield leaf(flag if is_true(switch) else f"--no-{flag.removeprefix('--')}", switch)
    for parent, names in ((model, _MODEL), (config, _VLLM)):
        for key, flag in names:
            value = get(parent, key)
            if text_of(value) is not None and value is not None:
                yield from (leaf(flag, value), value)
    yield from items(get(config, "extraArgs"))


def _variables(spec: Node | None) -> Iterator[Node]:
    if text_of(get(spec, "vllmConfig", "v1")) == "false":
        yield variable("VLLM_USE_V1", "0")
    buffer = get(spec, "lmCacheConfig", "cpuOffloadingBufferSize")
    if buffer is not None and is_true(get(spec, "lmCacheConfig", "enabled")):
        yield variable("LMCACHE_MAX_LOCAL_CPU_SIZE", buffer)


def _home(spec: Node | None) -> Home | None:
    config = get(spec, "vllmConfig")
    if not isinstance(config, MappingNode):
        return Home("list", spec, ("vllmConfig", "extraArgs")) if isinstance(spec, MappingNode) else None
    return list_home(config, "extraArgs")
