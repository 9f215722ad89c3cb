"""Shapes that are recognised and not read: the answer is what they are and what to give instead, not silence."""

from collections.abc import Iterable
from typing import Final

from oomedic.claim import claim
from oomedic.kube.objects import KubeObject
from oomedic.workloads.command import CommandLine
from oomedic.workloads.reading import Reading
from oomedic.workloads.source import Source
from oomedic.workloads.workload import Workload
from oomedic.yamldoc.nodes import fields, get, text_of

_REQUESTS: Final = {
    ("DynamoGraphDeploymentRequest", "nvidia.com"): "DynamoGraphDeployment",
    ("MultiRoleInference", "kaito.sh"): "InferenceSet",
    ("ModelBooster", "workload.serving.volcano.sh"): "ModelServing",
    ("LLMInferenceServiceConfig", "serving.kserve.io"): None,
}
"""Kinds that a controller turns into another one, which says what runs; None: read with what refers to it."""
_OTHER_CHARTS: Final = {
    "sglang": {"sglang", "sglangConfig"},
    "nim-llm": {"nimCache", "nim"},
    "text-generation-inference": {"tgi"},
}


def recognises(found: KubeObject) -> bool:
    """Tell whether this asks a controller for an engine, or holds values of a chart for another engine."""
    return _REQUESTS.get((found.kind, found.group)) is not None or _chart(found) is not None


def read(found: KubeObject, source: Source) -> Iterable[Reading]:
    """Return one workload that says why it is not read."""
    chart, made = _chart(found), _REQUESTS.get((found.kind, found.group))
    because = (
        claim("workload.engine-unsupported", engine=chart)
        if chart
        else claim("workload.made-by-controller", kind=found.kind, made=made)
    )
    place = (found.document, found.item, "")
    workload = Workload(
        found.title,
        found.kind or "values",
        found.namespace,
        found.name,
        "",
        supported=False,
        because=because,
        place=place,
    )
    yield Reading(workload, CommandLine((), None, {}, {}, replaced=False), None, (), source, found)


def _chart(found: KubeObject) -> str | None:
    keys = set() if found.kind else set(fields(found.node))
    if "nvcr.io/nim/" in (text_of(get(found.node, "image", "repository")) or "") and keys:
        return "nim-llm"
    return next((chart for chart, needed in _OTHER_CHARTS.items() if keys & needed and "image" in keys), None)
