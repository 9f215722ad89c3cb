"""AIBrix ModelClaim: arguments as a mapping whose keys are flags; several models share the GPUs of one warm pool.

How many GPUs there are is decided by the pods that ``podSelector`` finds. Each engine of a pool takes its share of the
same cards, so two of them cannot both have vLLM's default.
"""

from collections.abc import Iterable

from oomedic.claim import Claim, claim
from oomedic.kube.objects import KubeObject
from oomedic.models.uri import read_model_uri
from oomedic.workloads.devices import whole
from oomedic.workloads.home import Home, fields_home
from oomedic.workloads.pod_spec import PodTemplate, read_pod
from oomedic.workloads.reading import Reading
from oomedic.workloads.source import Source
from oomedic.yamldoc.nodes import MappingNode, Node, get, text_of, texts_of
from oomedic.yamldoc.rendered import dashed, flags, leaf, listed, mapped


def recognises(found: KubeObject) -> bool:
    """Tell whether this is a ModelClaim."""
    return found.kind == "ModelClaim" and found.group == "model.aibrix.ai"


def read(found: KubeObject, source: Source) -> Iterable[Reading]:
    """Return the engine that the claim starts in a pod of the pool."""
    spec = found.at("/spec")
    replicas = get(spec, "replicas")
    template = PodTemplate(
        mapped({"containers": listed([_container(spec)])}),
        "/spec",
        replicas=1 if replicas is None else whole(text_of(replicas)),
        engine="engine",
        home=_home(spec),
    )
    others = _sharing(found, source)
    engine = (text_of(get(spec, "engine")) or "vllm").lower()
    for reading in read_pod(found, template, source):
        notes: tuple[Claim, ...] = (claim("note.pool-shared", others=others),) if others else ()
        shown = reading.having(unit=found.title, shm=None, notes=reading.workload.notes + notes)
        yield shown if engine == "vllm" else _declined(shown, engine)


def _container(spec: Node | None) -> Node:
    url = get(spec, "artifactURL")
    written = text_of(url) or ""
    name = get(spec, "modelName")
    words: list[Node] = [leaf("vllm"), leaf("serve"), leaf(read_model_uri(written).id or written, url)]
    words += [leaf("--served-model-name"), name] if name is not None else []
    words += flags(get(spec, "engineConfig", "args"), dashed)
    return mapped({"name": "engine", "command": listed(words)})


def _home(spec: Node | None) -> Home | None:
    config = get(spec, "engineConfig")
    if isinstance(config, MappingNode):
        return fields_home(config, "args", "flag")
    return Home("fields", spec, ("engineConfig", "args"), "flag") if isinstance(spec, MappingNode) else None


def _sharing(found: KubeObject, source: Source) -> tuple[str, ...]:
    """Return the other claims on the same pool."""
    pool = texts_of(found.at("/spec/podSelector/matchLabels"))
    return tuple(
        other.name
        for other in source.of_kind("ModelClaim")
        if pool and other.name != found.name and texts_of(other.at("/spec/podSelector/matchLabels")) == pool
    )


def _declined(reading: Reading, engine: str) -> Reading:
    because = claim("workload.engine-unsupported", engine=engine)
    return reading.having(engine=engine, supported=False, because=because)
