"""KServe's ServingRuntime and ClusterServingRuntime where no service beside them uses them: what others start from."""

import re
from collections.abc import Iterable
from typing import Final

from oomedic.kube.objects import KubeObject
from oomedic.workloads.home import Home
from oomedic.workloads.pod_spec import PodTemplate, read_pod
from oomedic.workloads.reading import Reading
from oomedic.workloads.source import Source
from oomedic.yamldoc.nodes import Node, ScalarNode, get, items, text_of
from oomedic.yamldoc.rendered import leaf, listed, mapped, merged

_KINDS: Final = frozenset(("ServingRuntime", "ClusterServingRuntime"))
_CONTAINER: Final = "kserve-container"
_BRACES: Final = re.compile(r"\{\{[^{}]*\}\}")


def recognises(found: KubeObject) -> bool:
    """Tell whether this is a runtime of KServe."""
    return found.kind in _KINDS and found.group == "serving.kserve.io"


def read(found: KubeObject, source: Source) -> Iterable[Reading]:
    """Return its engine, with the name of the runtime where a service would fill in its own."""
    if any(_uses(each, found) for each in source.of_kind("InferenceService")):
        return ()
    spec = found.at("/spec")
    own = items(get(spec, "containers"))
    containers = listed(_filled(each, found.name) for each in own)
    arguments = next((get(each, "args") for each in own if text_of(get(each, "name")) == _CONTAINER), None)
    home = Home("list", arguments) if arguments is not None else None
    return read_pod(found, PodTemplate(merged(spec, mapped({"containers": containers})), "/spec", home=home), source)


def _uses(service: KubeObject, runtime: KubeObject) -> bool:
    """Tell whether a service names a runtime, or names none and has a format that the runtime fits."""
    name = text_of(service.at("/spec/predictor/model/runtime"))
    form = text_of(service.at("/spec/predictor/model/modelFormat/name"))
    formats = [text_of(get(each, "name")) for each in items(runtime.at("/spec/supportedModelFormats"))]
    return name == runtime.name or (name is None and form in formats)


def _filled(container: Node, name: str) -> Node:
    arguments = listed(
        leaf(_BRACES.sub(name, item.value)) if isinstance(item, ScalarNode) and "{{" in item.value else item
        for item in items(get(container, "args"))
    )
    return merged(container, mapped({"args": arguments})) or container
