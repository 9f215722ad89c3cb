"""RayService of KubeRay: applications of Ray Serve in ``serveConfigV2``, a text of YAML inside the YAML.

Ray Serve LLM has one entry of ``llm_configs`` per model, with vLLM's arguments under ``engine_kwargs``. Other
applications are programs whose settings come from variables: what these do is not in the manifest. Changing
``serveConfigV2`` updates in place; changing ``rayClusterConfig`` starts a second cluster.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from oomedic.claim import claim
from oomedic.kube.objects import KubeObject
from oomedic.models.uri import read_model_uri
from oomedic.workloads.config_file import mounted_module
from oomedic.workloads.devices import whole
from oomedic.workloads.home import Home, fields_home
from oomedic.workloads.knobs import dead_knobs, mentions
from oomedic.workloads.pod_spec import PodTemplate, read_pod
from oomedic.workloads.ray_pods import Group, groups, total_devices
from oomedic.workloads.reading import Reading
from oomedic.workloads.source import Source
from oomedic.workloads.workload import Workload
from oomedic.yamldoc.nodes import MappingNode, Node, get, items, text_of
from oomedic.yamldoc.rendered import dashed, entries, flags, joined, leaf, listed, mapped, merged

_CONFIG: Final = "/spec/serveConfigV2"
_CLUSTER: Final = "/spec/rayClusterConfig"


def recognises(found: KubeObject) -> bool:
    """Tell whether this is a RayService."""
    return found.kind == "RayService" and found.group == "ray.io"


def read(found: KubeObject, source: Source) -> Iterable[Reading]:
    """Return one engine per model of the applications, else that of the head pod."""
    source.atlas.take(found)
    known = list(groups(found.at(_CLUSTER), source))
    config = source.open(found.at(_CONFIG))
    any_found = False
    for index, application in enumerate(items(get(config, "applications"))):
        for reading in _application(found, (index, application), known, source):
            any_found = True
            yield reading
    if not any_found:
        template = PodTemplate(known[0].pod, f"{_CLUSTER}/headGroupSpec/template/spec", "headGroupSpec/{container}")
        yield from (reading for reading in read_pod(found, template, source) if reading.command.running)


def _application(
    found: KubeObject, numbered: tuple[int, Node], known: list[Group], source: Source
) -> Iterator[Reading]:
    index, application = numbered
    path = f"applications[{index}]"
    configs = items(get(application, "args", "llm_configs"))
    for number, config in enumerate(configs):
        if isinstance(config, MappingNode):
            yield from _model(found, f"{path}.args.llm_configs[{number}]", config, known, source)
    if not configs and get(application, "import_path") is not None:
        yield from _program(found, path, application, known, source)


def _model(found: KubeObject, path: str, config: Node, known: list[Group], source: Source) -> Iterator[Reading]:
    loading, settings = get(config, "model_loading_config"), get(config, "engine_kwargs")
    model = get(loading, "model_source") or get(loading, "model_id")
    if isinstance(model, MappingNode):
        model = get(model, "bucket_uri") or get(loading, "model_id")
    served = get(loading, "model_id")
    words = [leaf("vllm"), leaf("serve"), _named(model), *flags(settings, dashed)]
    words += (
        [leaf("--served-model-name", served), served]
        if served is not None and not get(settings, "served_model_name")
        else []
    )
    group = _group(known)
    variables = listed(entries(get(config, "runtime_env", "env_vars")))
    home = fields_home(config, "engine_kwargs", "snake")
    scaling = get(config, "deployment_config", "autoscaling_config")
    bounds = [whole(text_of(get(scaling, key))) for key in ("min_replicas", "max_replicas")]
    fixed = whole(text_of(get(config, "deployment_config", "num_replicas")))
    for reading in _read(found, path, group, (listed(words), variables, home), source):
        yield _of_cluster(reading, known, fixed).having(
            group_size=_pods_of_replica(reading.workload),
            replicas_range=(bounds[0], bounds[1]) if scaling is not None else None,
            notes=(*reading.workload.notes, claim("note.actor-restarts"), claim("note.second-cluster")),
        )


def _named(model: Node | None) -> Node:
    text = text_of(model)
    identifier = read_model_uri(text).id if text else None
    return model if model is not None and identifier == text else leaf(identifier or text or "", model)


def _program(found: KubeObject, path: str, application: Node, known: list[Group], source: Source) -> Iterator[Reading]:
    """Read a program of the user's: its variables look like arguments, and only its text could tell."""
    group = _group(known)
    environment = listed(entries(get(application, "runtime_env", "env_vars")))
    words = listed([leaf("serve"), get(application, "import_path") or leaf("")])
    module = (text_of(get(application, "import_path")) or "").partition(":")[0]
    for each in _read(found, path, group, (words, environment, None), source):
        reading = _as_program_says(each, module, group.pod, source)
        if "model" in reading.workload.arguments.given:
            options = items(get(application, "deployments"))
            scaling = get(options[0], "autoscaling_config") if options else None
            bounds = [whole(text_of(get(scaling, key))) for key in ("min_replicas", "max_replicas")]
            yield _of_cluster(reading, known, None).having(
                replicas_range=(bounds[0], bounds[1]) if scaling is not None else None,
                notes=(*reading.workload.notes, claim("note.actor-restarts"), claim("note.second-cluster")),
            )


def _as_program_says(reading: Reading, module: str, pod: Node | None, source: Source) -> Reading:
    """Take the variables that the program never mentions for what they are, where its text is in the manifest."""
    containers = items(get(pod, "containers"))
    file = mounted_module(module, containers[0], pod, source) if containers else None
    if file is None:
        return reading
    text, arguments = file.leaf.value, reading.workload.arguments
    read = {name: each for name, each in arguments.given.items() if mentions(text, each.spelling)}
    dead = dead_knobs(reading.command.variables, text, source.table)
    return reading.having(arguments=arguments._replace(given=read), dead_variables=dead)


def _group(known: list[Group]) -> Group:
    """Return the pods that the engine runs on: the first group with devices, else the head."""
    return next((group for group in known if group.devices.number), known[0])


def _read(
    found: KubeObject, path: str, group: Group, line: tuple[Node, Node, Home | None], source: Source
) -> Iterator[Reading]:
    """Read a pod of the group as if it started the engine by a command line."""
    words, variables, home = line
    containers = items(get(group.pod, "containers"))
    if not containers:
        return
    name = text_of(get(containers[0], "name")) or "ray-worker"
    own = mapped(
        {"name": name, "command": words, "args": listed([]), "env": joined(get(containers[0], "env"), variables)}
    )
    container = merged(containers[0], own) or own
    rest = merged(group.pod, mapped({"containers": listed([container])}))
    template = PodTemplate(rest, f"{_CONFIG}/{path}", unit=f"serveConfigV2.{path}", engine=name, home=home)
    yield from read_pod(found, template, source)


def _pods_of_replica(workload: Workload) -> int:
    """Return how many pods the ranks of one replica need: Ray places them, whatever else the cluster offers."""
    sizes = (workload.arguments.given.get(name) for name in ("tensor_parallel_size", "pipeline_parallel_size"))
    ranks = 1
    for size in sizes:
        ranks *= size.value if size is not None and isinstance(size.value, int) else 1
    return -(-ranks // workload.gpus_per_pod) if workload.gpus_per_pod else 1


def _of_cluster(reading: Reading, known: list[Group], copies: int | None) -> Reading:
    """Take the devices of the cluster for those of the engine; an autoscaler decides how many there are."""
    group = _group(known)
    total = total_devices(known)
    pods = sum(each.pods or 0 for each in known if each.devices.number) or 1
    return reading._replace(counts=group.counts).having(group_size=pods, gpus_total=total, replicas=copies)
