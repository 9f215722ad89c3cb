"""NVIDIA NIM (NIMService): a profile inside the image decides about model, precision and engine.

The engine may be TensorRT-LLM, so nothing of vLLM's arithmetic is done; what the settings say is shown.
"""

from collections.abc import Iterable

from oomedic.claim import claim
from oomedic.kube.objects import KubeObject
from oomedic.workloads.devices import whole
from oomedic.workloads.knobs import read_knobs
from oomedic.workloads.pod_spec import PodTemplate, read_pod
from oomedic.workloads.reading import Reading
from oomedic.workloads.source import Source
from oomedic.workloads.workload import EditPath
from oomedic.yamldoc.nodes import get, text_of
from oomedic.yamldoc.rendered import listed, mapped


def recognises(found: KubeObject) -> bool:
    """Tell whether this is a service of the NIM operator."""
    return found.kind in {"NIMService", "NIMPipeline"} and found.group == "apps.nvidia.com"


def read(found: KubeObject, source: Source) -> Iterable[Reading]:
    """Return the engine, declined."""
    spec = found.at("/spec")
    repository, tag = text_of(get(spec, "image", "repository")), text_of(get(spec, "image", "tag"))
    container = {"name": "nim", "image": f"{repository}:{tag}" if tag else repository}
    container_node = mapped({**container, "env": get(spec, "env"), "resources": get(spec, "resources")})
    pod = mapped({"containers": listed([container_node]), "nodeSelector": get(spec, "nodeSelector")})
    replicas = get(spec, "replicas")
    template = PodTemplate(pod, "/spec", replicas=1 if replicas is None else whole(text_of(replicas)), engine="nim")
    for reading in read_pod(found, template, source):
        knobs = read_knobs(reading.command.variables, source.table)
        given = {name: each for name, each in knobs.items() if name != "model"}
        arguments = reading.workload.arguments._replace(given=given)
        yield reading._replace(home=None).having(
            unit=found.title,
            supported=False,
            because=claim("workload.nim-unsupported", "/spec/image"),
            engine="nim",
            engine_version=None,
            model=repository,
            arguments=arguments,
            edit_paths=_paths(reading, {each.spelling: name for name, each in given.items()}),
        )


def _paths(reading: Reading, names: dict[str, str]) -> dict[str, EditPath]:
    paths = {key: path for key, path in reading.workload.edit_paths.items() if "/" in key}
    for variable, name in names.items():
        value = reading.command.places.get(f"env/{variable}")
        spot = reading.source.spot(value)
        if spot is not None:
            paths[name] = spot.edit_path(value)
    return paths
