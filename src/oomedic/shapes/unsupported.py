"""Shapes that are recognised, and not read yet: the answer is what they are, not silence."""

from collections.abc import Iterable
from typing import Final

from oomedic.claim import claim
from oomedic.kube_object import KubeObject, Source
from oomedic.workload import Workload
from oomedic.yamlnodes import fields

_KINDS: Final = {
    "LeaderWorkerSet": ("leaderworkerset.x-k8s.io",),
    "InferenceService": ("serving.kserve.io",),
    "ServingRuntime": ("serving.kserve.io",),
    "ClusterServingRuntime": ("serving.kserve.io",),
    "LLMInferenceService": ("serving.kserve.io",),
    "RayCluster": ("ray.io",),
    "RayService": ("ray.io",),
    "RayJob": ("ray.io",),
    "RayClusterFleet": ("orchestration.aibrix.ai",),
    "StormService": ("orchestration.aibrix.ai",),
    "ModelClaim": ("model.aibrix.ai",),
    "Model": ("kubeai.org",),
    "VLLMRuntime": ("production-stack.vllm.ai",),
    "DynamoGraphDeployment": ("nvidia.com",),
    "Workspace": ("kaito.sh",),
    "InferenceSet": ("kaito.sh",),
    "NIMService": ("apps.nvidia.com",),
}
_VALUES: Final = {
    "vllm-stack": {"servingEngineSpec"},
    "llm-d-modelservice": {"modelArtifacts"},
    "ai-on-eks": {"inference", "modelParameters"},
}


def recognises(found: KubeObject) -> bool:
    """Tell whether this is a known custom resource, or the values of a known Helm chart."""
    return found.group in _KINDS.get(found.kind, ()) or _chart(found) is not None


def read(found: KubeObject, source: Source) -> Iterable[Workload]:  # noqa: ARG001 - every shape has this interface
    """Return one workload that says why it is not read."""
    chart = _chart(found)
    because = claim("workload.shape-unsupported", kind=f"{chart} values" if chart else found.kind)
    unit = "values" if chart else f"{found.kind}/{found.name}"
    yield Workload(unit, found.kind or "values", found.namespace, found.name, "", supported=False, because=because)


def _chart(found: KubeObject) -> str | None:
    keys = set() if found.kind else set(fields(found.node))
    return next((chart for chart, needed in _VALUES.items() if needed <= keys), None)
