"""The engines of a pod spec, whatever object it is part of."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from oomedic.argument_words import find_occurrence
from oomedic.arguments import EngineArgs, merge, read_argv
from oomedic.claim import Claim, claim
from oomedic.command import CommandLine, place_of, read_command
from oomedic.config_file import ConfigFile, find_config_file
from oomedic.devices import Devices, read_devices
from oomedic.engine_kinds import engine_of_arguments, engine_of_image, version_of_image
from oomedic.kube_object import KubeObject, Source
from oomedic.pod_facts import (
    cpu_request,
    memory,
    node_affinity,
    node_selector,
    node_terms,
    probes,
    shared_memory,
    tolerations,
)
from oomedic.redaction import redact
from oomedic.version import parse_version
from oomedic.workload import EditPath, Strategy, Workload
from oomedic.yamlnodes import Node, ScalarNode, get, items, pointer_token, text_of


class PodTemplate(NamedTuple):
    """A pod spec inside an object.

    ``replicas`` is how many such pods run, None where the manifest does not say.
    """

    pointer: str
    replicas: int | None = 1
    strategy: Strategy | None = None
    progress_deadline_s: int | None = None


class _Candidate(NamedTuple):
    """A container that may be an engine."""

    container: Node
    pointer: str
    image: str | None
    command: CommandLine
    devices: Devices

    @property
    def engine(self) -> str | None:
        """The engine by what is run, else by the image."""
        running = self.command.running
        return running.engine if running else engine_of_image(self.image) if self.image else None


def read_pod(found: KubeObject, template: PodTemplate, source: Source) -> Iterator[Workload]:
    """Read the engine containers of a pod spec: by what they run, else by their image, never by their position."""
    pod = found.at(template.pointer)
    candidates = list(_candidates(pod, template.pointer, source))
    shown = [candidate for candidate in candidates if candidate.command.running]
    for candidate in candidates:
        if candidate.command.running or (not shown and _may_be_engine(candidate, source)):
            yield _workload(found, template, candidate, source)


def _candidates(pod: Node | None, pointer: str, source: Source) -> Iterator[_Candidate]:
    for field in ("containers", "initContainers"):
        for index, container in enumerate(items(get(pod, field))):
            if field == "initContainers" and text_of(get(container, "restartPolicy")) != "Always":
                continue
            place = f"{pointer}/{field}/{index}"
            image = text_of(get(container, "image"))
            devices = read_devices(container, pod, source)
            yield _Candidate(container, place, image, read_command(container, place), devices)


def _may_be_engine(candidate: _Candidate, source: Source) -> bool:
    """Tell whether a container whose program does not show is an engine: by its image, or by arguments of vLLM."""
    if candidate.engine is not None:
        return not candidate.command.replaced or candidate.devices.resource is not None
    if candidate.command.replaced or candidate.devices.resource is None:
        return False
    given = read_argv(candidate.command.words, source.table).given
    return engine_of_arguments(frozenset(given)) is not None


def _workload(found: KubeObject, template: PodTemplate, candidate: _Candidate, source: Source) -> Workload:
    pod, container, devices = found.at(template.pointer), candidate.container, candidate.devices
    engine = candidate.engine or "vllm"
    because = _unsupported(engine, candidate)
    arguments, config = _arguments(engine, candidate, pod, source)
    name = text_of(get(container, "name")) or candidate.pointer.rpartition("/")[2]
    total = None if devices.number is None or template.replicas is None else devices.number * template.replicas
    return Workload(
        unit=f"{found.kind}/{found.name}#{name}",
        kind=found.kind,
        namespace=found.namespace,
        name=found.name,
        container=name,
        supported=because is None,
        because=because,
        engine=engine,
        engine_version=version_of_image(candidate.image or ""),
        image=candidate.image,
        model=_model(arguments),
        served_name=_served_name(arguments),
        arguments=arguments,
        gpu_resource=devices.resource,
        gpus_per_pod=devices.number,
        gpus_total=total,
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
        edit_paths=_edit_paths(found, candidate, arguments, config, source),
        place=(found.document, found.item, candidate.pointer),
    )


def _unsupported(engine: str, candidate: _Candidate) -> Claim | None:
    where = candidate.pointer
    if engine != "vllm":
        return claim("workload.engine-unsupported", where, engine=engine)
    if candidate.devices.foreign:
        return claim("workload.accelerator-unsupported", where, resource=candidate.devices.resource)
    if candidate.command.replaced and candidate.command.running is None:
        return claim("workload.command-unreadable", where, command=redact(candidate.command.words[0].text)[:80])
    return None


def _arguments(
    engine: str, candidate: _Candidate, pod: Node | None, source: Source
) -> tuple[EngineArgs, ConfigFile | None]:
    """Read the engine's arguments; those of a ``--config`` file in the same manifest count below the command line's."""
    command = candidate.command
    environment = EngineArgs({}, command.environment)
    if engine != "vllm" or (command.replaced and command.running is None):
        return environment, None
    version = parse_version(version_of_image(candidate.image or "") or "")
    table = source.table.at(version) if version else source.table
    line = read_argv(command.arguments, table, "args")
    config = find_config_file(line.given.get("config"), candidate.container, pod, source)
    inside = read_argv(config.words, table, config.where) if config else EngineArgs({})
    return merge(environment, inside, line), config


def _model(arguments: EngineArgs) -> str | None:
    model = arguments.given.get("model")
    return model.value if model and isinstance(model.value, str) else None


def _served_name(arguments: EngineArgs) -> str | None:
    served = arguments.given.get("served_model_name")
    if served is None or not served.value:
        return None
    return str(served.value[0]) if isinstance(served.value, tuple) else str(served.value)


def _edit_paths(
    found: KubeObject, candidate: _Candidate, arguments: EngineArgs, config: ConfigFile | None, source: Source
) -> Mapping[str, EditPath]:
    paths: dict[str, EditPath] = {}
    words = candidate.command.arguments
    for name, given in arguments.given.items():
        if config and given.where == config.where:
            paths[name] = config.edit_path(given, source)
            continue
        occurrence = find_occurrence(words, given)
        word = words[occurrence.last] if occurrence else None
        place = place_of(candidate.command, word, occurrence.glued) if occurrence and word else None
        if word and place:
            alone = word.span == (0, len(place.scalar.value)) or place != candidate.command.places.get(word.origin)
            inner = None if alone else given.spelling or "model"
            paths[name] = found.edit_path(source.file, place.pointer, place.scalar, inner)
    devices = candidate.devices
    if devices.resource and devices.pointer:
        pointer = f"{candidate.pointer}{devices.pointer}/{pointer_token(devices.resource)}"
        scalar = found.at(pointer)
        paths[devices.resource] = found.edit_path(
            source.file, pointer, scalar if isinstance(scalar, ScalarNode) else None
        )
    return paths
