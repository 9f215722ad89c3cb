"""One engine container, read: its arguments, where each is written, and what the pod around it says."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from oomedic.arguments.reader import EngineArgs, Given, read_argv
from oomedic.arguments.table import ArgumentTable
from oomedic.arguments.words import find_occurrence
from oomedic.claim import Claim, claim
from oomedic.kube.objects import KubeObject
from oomedic.kube.ownership import controller_of, managers
from oomedic.redaction import redact
from oomedic.version import parse_version
from oomedic.workloads.command import CommandLine, place_of
from oomedic.workloads.devices import Devices
from oomedic.workloads.engine_kinds import engine_of_image, server_of, version_of_image
from oomedic.workloads.hints import model_hint, offload, quantization_hint
from oomedic.workloads.home import Home
from oomedic.workloads.knobs import dead_knobs, read_knobs
from oomedic.workloads.pod_facts import (
    cpu_request,
    memory,
    node_affinity,
    node_selector,
    node_terms,
    probes,
    shared_memory,
    tolerations,
    unmounted,
)
from oomedic.workloads.reading import Count, Reading
from oomedic.workloads.source import Source
from oomedic.workloads.workload import EditPath, Strategy, Workload
from oomedic.yamldoc.nodes import MappingNode, Node, SequenceNode, get, items, text_of, texts_of

_HANDED_ON: Final = {
    "--model-id": "model",
    "--model-dir": "model",
    "--model-name": "served_model_name",
    "--max-length": "max_model_len",
}
"""Flags of Hugging Face's server in KServe, which hands them to vLLM under vLLM's names (python/huggingfaceserver)."""

OFTEN_CHANGED: Final = (
    *("max_model_len", "gpu_memory_utilization", "max_num_seqs", "max_num_batched_tokens", "enforce_eager"),
    *("tensor_parallel_size", "pipeline_parallel_size", "kv_cache_dtype", "cpu_offload_gb", "quantization"),
    *("kv_cache_memory_bytes", "limit_mm_per_prompt", "compilation_config", "enable_chunked_prefill", "dtype"),
)
"""Arguments that have an edit path even where they are not given."""


class PodTemplate(NamedTuple):
    """A pod spec inside an object.

    Attributes:
        pod: as it will run: written so, or put together from what a chart or a controller reads.
        key: names the pod within its object.
        unit: what stands behind ``#`` in the unit's name; ``{container}`` is the container's name.
        replicas: how many such groups of pods run, None where the manifest does not say.
        group_size: how many pods make one replica.
        engine: name of the container that is the engine whatever it shows, None to find it.
        home: where further arguments go, None for behind the last word.
    """

    pod: Node | None
    key: str
    unit: str = "{container}"
    replicas: int | None = 1
    strategy: Strategy | None = None
    progress_deadline_s: int | None = None
    group_size: int = 1
    engine: str | None = None
    home: Home | None = None


class Candidate(NamedTuple):
    """A container that may be an engine."""

    container: Node
    key: str
    image: str | None
    command: CommandLine
    devices: Devices

    @property
    def name(self) -> str:
        """Its name, or its number where it has none."""
        return text_of(get(self.container, "name")) or self.key.rpartition("/")[2]

    @property
    def engine(self) -> str | None:
        """The engine by what is run, else by the image; KServe's Hugging Face server runs vLLM."""
        running = self.command.running
        engine = running.engine if running else engine_of_image(self.image) if self.image else None
        return "vllm" if engine == "huggingfaceserver" else engine

    @property
    def readable(self) -> bool:
        """Whether the command line shows the engine's arguments."""
        return not (self.command.replaced and self.command.running is None)


def read_engine(found: KubeObject, template: PodTemplate, candidate: Candidate, source: Source) -> Reading:
    """Read an engine container of a pod."""
    pod, container, devices = template.pod, candidate.container, candidate.devices
    engine = candidate.engine or "vllm"
    arguments = _arguments(engine, candidate, source)
    model = _model(arguments)
    because = _unsupported(engine, candidate, arguments)
    pods = None if template.replicas is None else template.replicas * template.group_size
    home = template.home or (_home(candidate, source) if because is None else None)
    workload = Workload(
        unit=f"{found.title}#{template.unit.format(container=candidate.name)}",
        kind=found.kind,
        namespace=found.namespace,
        name=found.name,
        container=candidate.name,
        supported=because is None,
        because=because,
        engine=engine,
        engine_version=version_of_image(candidate.image or ""),
        image=candidate.image,
        server=server_of(candidate.command.words, candidate.image or ""),
        model=model,
        served_name=_served_name(arguments),
        arguments=arguments,
        gpu_resource=devices.resource,
        gpus_per_pod=devices.number,
        gpus_total=None if devices.number is None or pods is None else devices.number * pods,
        node_selector=node_selector(pod),
        node_affinity=node_affinity(pod),
        node_terms=node_terms(pod),
        tolerations=tolerations(pod),
        host_memory_limit=memory(container, "limits"),
        host_memory_request=memory(container, "requests"),
        cpu_request=cpu_request(container),
        shm=shared_memory(container, pod),
        probes=probes(container),
        strategy=template.strategy,
        replicas=template.replicas,
        progress_deadline_s=template.progress_deadline_s,
        edit_paths=_edit_paths(candidate, arguments, home, source),
        place=(found.document, found.item, candidate.key),
        group_size=template.group_size,
        device_memory=devices.memory,
        model_hint=model_hint(model, pod) if model and model.startswith("/") else None,
        quantization_hint=quantization_hint(arguments, model),
        offload=offload(arguments, candidate.command.variables),
        dead_variables=dead_knobs(candidate.command.variables, _mentioning(candidate.command), source.table)
        if candidate.readable
        else (),
        managed_by=managers(_metadata(found)),
        owner=_owner(found, source),
        notes=tuple(_notes(candidate, pod)),
    )
    counts = tuple(map(Count, devices.leaves))
    return Reading(workload, candidate.command, home, counts, source, found, pod, container)


def _mentioning(command: CommandLine) -> str:
    """Return what may name a variable: the program as it runs, and the words as they are written, with ``$(NAME)``."""
    written = (leaf.value for origin, leaf in command.places.items() if not origin.startswith("env/"))
    return "\n".join((command.text, *written))


def _metadata(found: KubeObject) -> Mapping[str, object]:
    return {"metadata": {"labels": found.labels(), "annotations": found.annotations()}}


def _owner(found: KubeObject, source: Source) -> str | None:
    """Return the object at the top of the chain of owners, as far as the manifest shows it."""
    owner, seen = None, set[str]()
    current: KubeObject | None = found
    while current is not None:
        above = controller_of({"metadata": {"ownerReferences": _owners(current), "namespace": current.namespace}})
        if above is None or str(above) in seen:
            break
        owner = str(above)
        seen.add(owner)
        if above.kind == "ReplicaSet":
            owner = _deployment_of(current, above.name) or owner
        current = source.find(above.kind, above.name)
    return owner


def _owners(found: KubeObject) -> list[Mapping[str, object]]:
    """Return the owner references that are whole."""
    written = (texts_of(each) for each in items(get(found.node, "metadata", "ownerReferences")))
    whole = (each for each in written if {"apiVersion", "kind", "name"} <= each.keys())
    return [{**each, "controller": each.get("controller") == "true"} for each in whole]


def _deployment_of(pod: KubeObject, replica_set: str) -> str | None:
    """Return the Deployment of a ReplicaSet, whose name is the Deployment's with the template's hash behind it."""
    template = pod.labels().get("pod-template-hash")
    suffix = f"-{template}"
    return f"Deployment/{replica_set.removesuffix(suffix)}" if template and replica_set.endswith(suffix) else None


def _unsupported(engine: str, candidate: Candidate, arguments: EngineArgs) -> Claim | None:
    where = candidate.key
    if engine != "vllm":
        return claim("workload.engine-unsupported", where, engine=engine)
    if candidate.devices.foreign:
        return claim("workload.accelerator-unsupported", where, resource=candidate.devices.resource)
    if not candidate.readable:
        return claim("workload.command-unreadable", where, command=redact(candidate.command.words[0].text)[:80])
    if "--backend" in arguments.unknown and any(
        word.text in {"--backend=huggingface", "huggingface"} for word in candidate.command.words
    ):
        return claim("workload.engine-unsupported", where, engine="transformers")
    return None


def _arguments(engine: str, candidate: Candidate, source: Source) -> EngineArgs:
    """Read the engine's arguments; what a script makes of variables is taken for what they are named like."""
    command = candidate.command
    if engine != "vllm":
        return EngineArgs({}, command.environment)
    if not candidate.readable:
        return EngineArgs(read_knobs(command.variables, source.table), command.environment)
    line = read_argv(command.arguments, table_of(candidate, source), "args")
    return line._replace(environment=command.environment)


def table_of(candidate: Candidate, source: Source) -> ArgumentTable:
    """Return vLLM's arguments as this release and this server read them."""
    version = parse_version(version_of_image(candidate.image or "") or "")
    table = source.table.at(version) if version else source.table
    running = candidate.command.running
    handed_on = (running and running.engine == "huggingfaceserver") or "huggingfaceserver" in (candidate.image or "")
    return table.with_flags(_HANDED_ON) if handed_on else table


def _model(arguments: EngineArgs) -> str | None:
    model = arguments.given.get("model")
    return model.value if model and isinstance(model.value, str) else None


def _served_name(arguments: EngineArgs) -> str | None:
    served = arguments.given.get("served_model_name")
    if served is None or not served.value:
        return None
    return str(served.value[0]) if isinstance(served.value, tuple) else str(served.value)


def _home(candidate: Candidate, source: Source) -> Home | None:
    """Return where a further argument goes: behind the last word, in the leaf or in the list that holds it."""
    words = candidate.command.words
    if not words:
        missing = get(candidate.container, "args") is None and isinstance(candidate.container, MappingNode)
        return Home("list", candidate.container, ("args",)) if missing and source.spot(candidate.container) else None
    carrier = words[-1].carrier
    leaf = candidate.command.places.get(carrier)
    if leaf is None:
        return None
    if candidate.command.program == carrier:
        return Home("text", leaf)
    spot = source.spot(leaf)
    in_list = spot is not None and isinstance(spot.parent, SequenceNode) and leaf.event >= 0
    return Home("list", spot.parent) if spot and spot.parent and in_list else None


def _edit_paths(
    candidate: Candidate, arguments: EngineArgs, home: Home | None, source: Source
) -> Mapping[str, EditPath]:
    added = home.edit_path(source) if home else None
    paths: dict[str, EditPath] = dict.fromkeys(OFTEN_CHANGED, added) if added else {}
    for name, given in arguments.given.items():
        path = _edit_path(candidate, given, source)
        if path:
            paths[name] = path
    devices = candidate.devices
    if devices.resource and devices.leaves:
        spot = source.spot(devices.leaves[0])
        if spot:
            paths[devices.resource] = spot.edit_path(devices.leaves[0])
    return paths


def _edit_path(candidate: Candidate, given: Given, source: Source) -> EditPath | None:
    words = candidate.command.arguments
    occurrence = find_occurrence(words, given)
    if occurrence is None:
        leaf = candidate.command.places.get(f"env/{given.spelling}")
        spot = source.spot(leaf)
        return spot.edit_path(leaf) if spot else None
    word = words[occurrence.last]
    place = place_of(candidate.command, word, occurrence.glued)
    spot = source.spot(place)
    if place is None or spot is None:
        return None
    alone = word.span == (0, len(place.value)) or place is not candidate.command.places.get(word.origin)
    return spot.edit_path(place, None if alone else given.spelling or "model")


def _notes(candidate: Candidate, pod: Node | None) -> list[Claim]:
    notes = [claim("note.memory-volume-unmounted", volume=name) for name in unmounted(pod)]
    if candidate.command.background:
        notes.append(claim("note.engine-in-background"))
    return notes
