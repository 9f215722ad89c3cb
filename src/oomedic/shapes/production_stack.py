"""Values of the vLLM production-stack chart (vllm-stack): one engine per entry of ``servingEngineSpec.modelSpec``.

What runs is what helm/templates/deployment-vllm-multi.yaml makes of them: ``vllmConfig`` first, then ``extraArgs``, so
that a later ``--gpu-memory-utilization`` there wins over ``gpuMemoryUtilization``. Without ``vllmConfig`` there are no
arguments at all; /dev/shm is mounted only where ``vllmConfig.tensorParallelSize`` stands. The Deployment belongs to
Helm: a change goes into the values.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from oomedic.claim import Claim, claim
from oomedic.kube.objects import KubeObject
from oomedic.workloads.devices import whole
from oomedic.workloads.home import Home, list_home
from oomedic.workloads.pod_facts import strategy
from oomedic.workloads.pod_spec import PodTemplate, read_pod
from oomedic.workloads.reading import Count, Reading
from oomedic.workloads.source import Source
from oomedic.yamldoc.nodes import MappingNode, Node, ScalarNode, fields, get, items, text_of
from oomedic.yamldoc.rendered import is_false, is_true, joined, leaf, listed, mapped, nested, variable

_GPU: Final = "nvidia.com/gpu"
_FLAGS: Final = (
    ("maxModelLen", "--max-model-len"),
    ("dtype", "--dtype"),
    ("tensorParallelSize", "--tensor-parallel-size"),
    ("pipelineParallelSize", "--pipeline-parallel-size"),
    ("maxNumSeqs", "--max-num-seqs"),
    ("gpuMemoryUtilization", "--gpu_memory_utilization"),
    ("maxLoras", "--max_loras"),
    ("runner", "--runner"),
    ("convert", "--convert"),
)
"""In the order of the template; ``extraArgs`` follow, and ``modelRevision`` after them. Pipelines need ``raySpec``."""
_STARTUP: Final = {"initialDelaySeconds": "15", "periodSeconds": "10", "failureThreshold": "60"}
_IGNORED: Final = ("nodeSelector", "affinity", "nodeName")
"""Keys that people write beside ``modelSpec``, where no template reads them."""


def recognises(found: KubeObject) -> bool:
    """Tell whether these are values of the chart."""
    return not found.kind and "servingEngineSpec" in fields(found.node)


def read(found: KubeObject, source: Source) -> Iterable[Reading]:
    """Return one engine per model; a model that is switched off is left out."""
    serving = get(found.node, "servingEngineSpec")
    for index, model in enumerate(items(get(serving, "modelSpec"))):
        if not is_false(get(model, "enabled")):
            yield from _read(found, index, model, source)


def _read(found: KubeObject, index: int, model: Node, source: Source) -> Iterator[Reading]:
    serving = get(found.node, "servingEngineSpec")
    replicas = get(model, "replicaCount")
    template = PodTemplate(
        _pod(model, serving),
        f"/servingEngineSpec/modelSpec/{index}",
        unit=f"servingEngineSpec.modelSpec[{index}]",
        replicas=1 if replicas is None else whole(text_of(replicas)),
        strategy=strategy(get(serving, "strategy"), ("100%", "0")),
        progress_deadline_s=1200,
        engine="vllm",
        home=_home(model),
    )
    if is_true(get(model, "raySpec", "enabled")):
        pods = template.replicas
        template = template._replace(group_size=1 + (pods or 1), replicas=1, strategy=None)
    for reading in read_pod(found, template, source):
        counts = _counts(model) or reading.counts
        notes = reading.workload.notes + tuple(_notes(model, serving))
        yield reading._replace(counts=counts).having(notes=notes, replicas_range=_scaled(get(model, "keda")))


def _scaled(keda: Node | None) -> tuple[int | None, int | None] | None:
    if not is_true(get(keda, "enabled")):
        return None
    return whole(text_of(get(keda, "minReplicaCount"))), whole(text_of(get(keda, "maxReplicaCount")))


def _pod(model: Node, serving: Node | None) -> Node:
    config = get(model, "vllmConfig")
    repository, tag = text_of(get(model, "repository")) or "", text_of(get(model, "tag"))
    mounted = "tensorParallelSize" in fields(config)
    shm = mapped({"medium": "Memory", "sizeLimit": get(model, "shmSize") or leaf("20Gi")})
    container = {
        "name": "vllm",
        "image": f"{repository}:{tag}" if tag else repository,
        "command": listed(_command(model, config)),
        "env": joined(listed(_variables(model, config)), get(serving, "env"), get(model, "env")),
        "resources": get(model, "resources") or _resources(model),
        "startupProbe": get(serving, "startupProbe") or mapped({**_STARTUP, "httpGet": mapped({"path": "/health"})}),
        "livenessProbe": get(serving, "livenessProbe"),
        "readinessProbe": get(serving, "readinessProbe"),
        "volumeMounts": joined(
            listed([mapped({"name": "shm", "mountPath": "/dev/shm"})] if mounted else []),  # noqa: S108 - a mount path
            get(model, "extraVolumeMounts"),
        ),
    }
    volumes = listed([mapped({"name": "shm", "emptyDir": shm})] if mounted else [])
    return mapped(
        {
            "containers": listed([mapped(container)]),
            "initContainers": listed([init] if (init := get(model, "initContainer")) else []),
            "volumes": joined(volumes, get(model, "extraVolumes")),
            "affinity": _affinity(model),
            "tolerations": _tolerations(model, serving),
            "nodeName": get(model, "nodeName"),
        }
    )


def _command(model: Node, config: Node | None) -> Iterator[Node]:
    yield from (leaf("vllm"), leaf("serve"), get(model, "modelURL") or leaf(""))
    if is_true(get(model, "enableLoRA")):
        yield leaf("--enable-lora", get(model, "enableLoRA"))
    if isinstance(config, MappingNode):
        yield from _switches(config)
        on_ray = is_true(get(model, "raySpec", "enabled"))
        for key, flag in _FLAGS:
            value = get(config, key)
            if isinstance(value, ScalarNode) and (on_ray or key != "pipelineParallelSize"):
                yield from (leaf(flag, value), value)
        yield from items(get(config, "extraArgs"))
    revision = get(model, "modelRevision")
    if revision is not None:
        yield from (leaf("--revision", revision), revision)


def _switches(config: Node) -> Iterator[Node]:
    """Yield the switches: prefix caching is switched off unless it is asked for."""
    chunked, prefix = get(config, "enableChunkedPrefill"), get(config, "enablePrefixCaching")
    if chunked is not None:
        yield leaf("--enable-chunked-prefill" if is_true(chunked) else "--no-enable-chunked-prefill", chunked)
    yield leaf("--enable-prefix-caching" if is_true(prefix) else "--no-enable-prefix-caching", prefix)


def _variables(model: Node, config: Node | None) -> Iterator[Node]:
    if text_of(get(config, "v0")) == "1":
        yield variable("VLLM_USE_V1", "0")
    buffer = get(model, "lmcacheConfig", "cpuOffloadingBufferSize")
    if buffer is not None and text_of(buffer) != "0":
        yield variable("LMCACHE_MAX_LOCAL_CPU_SIZE", buffer)
    devices = get(model, "lmcacheConfig", "cudaVisibleDevices")
    if devices is not None:
        yield variable("CUDA_VISIBLE_DEVICES", devices)


def _resources(model: Node) -> Node:
    """Return what the chart's ``chart.resources`` asks for."""
    resource = text_of(get(model, "requestGPUType")) or _GPU
    gpus = get(model, "requestGPU")
    share = get(model, "requestGPUMem")
    requests = {"memory": get(model, "requestMemory"), "cpu": get(model, "requestCPU"), resource: gpus}
    limits = {"memory": get(model, "limitMemory"), "cpu": get(model, "limitCPU"), resource: gpus}
    requests |= {"nvidia.com/gpumem": share}
    return mapped({"requests": mapped(requests), "limits": mapped(limits)})


def _counts(model: Node) -> tuple[Count, ...]:
    gpus = get(model, "requestGPU")
    return (Count(gpus),) if isinstance(gpus, ScalarNode) and get(model, "resources") is None else ()


def _affinity(model: Node) -> Node | None:
    given = get(model, "affinity")
    terms = get(model, "nodeSelectorTerms")
    if given is not None and fields(given):
        return given
    return nested("nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms", terms)


def _tolerations(model: Node, serving: Node | None) -> Node:
    own, shared = get(model, "tolerations"), get(serving, "tolerations")
    return joined(own) if own and text_of(get(model, "tolerationsPolicy")) == "override" else joined(shared, own)


def _home(model: Node) -> Home | None:
    """Return the place of further arguments: ``extraArgs``, which are read only below ``vllmConfig``."""
    config = get(model, "vllmConfig")
    if not isinstance(config, MappingNode):
        # with a vllmConfig the chart switches prefix caching off, unless it is told otherwise
        beside, touched = {"enablePrefixCaching": True}, ("enable_prefix_caching",)
        return Home("list", model, ("vllmConfig", "extraArgs"), beside=beside, touched=touched)
    return list_home(config, "extraArgs")


def _notes(model: Node, serving: Node | None) -> Iterator[Claim]:
    for key in _IGNORED:
        if fields(get(serving, key)) or text_of(get(serving, key)):
            yield claim("note.value-ignored", key=f"servingEngineSpec.{key}", instead="modelSpec[].nodeSelectorTerms")
    if get(model, "vllmConfig") is None and is_true(get(model, "lmcacheConfig", "enabled")):
        yield claim("note.value-ignored", key="modelSpec[].lmcacheConfig", instead="modelSpec[].vllmConfig")
