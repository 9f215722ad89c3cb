"""A node pool of its own for one engine, and the class of nodes that it needs.

Karpenter v1 (``karpenter.sh/v1``; sigs.k8s.io/karpenter pkg/apis/crds) and EC2NodeClass (``karpenter.k8s.aws/v1``); on
EKS Auto Mode the same pool refers to a NodeClass of ``eks.amazonaws.com``.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from oomedic.instance import Instance
from oomedic.kube.taint import Taint
from oomedic.placement.node_pool import AUTO_MODE, KARPENTER, NodeClassRef

GPU_TAINT: Final = Taint("nvidia.com/gpu", "true", "NoSchedule")
AMI_ALIAS: Final = "al2023@latest"
"""Resolves to the NVIDIA variant of the image on instance types with GPUs (EC2NodeClass amiSelectorTerms)."""
CLUSTER: Final = "CLUSTER_NAME"
"""Stands for what only the user knows."""
_LONGEST: Final = 50
_CAPACITY: Final[Mapping[str | None, tuple[str, ...]]] = {
    None: ("on-demand",),
    "reservation": ("reserved", "on-demand"),
    "capacity-block": ("reserved",),
}


class NewPool(NamedTuple):
    """What a new pool is made of.

    Attributes:
        instances: two to five types with the same card, the cheapest first; the first is the one that was planned.
        gpus: the most that its nodes may have in all.
        node_class: which class of nodes it makes.
        labels: that its nodes get beside those of their type.
    """

    name: str
    instances: Sequence[Instance]
    gpus: int
    node_class: NodeClassRef
    labels: Mapping[str, str] = {}

    @property
    def auto_mode(self) -> bool:
        """Tell whether EKS Auto Mode makes the nodes."""
        return self.node_class.group == AUTO_MODE

    @property
    def taints(self) -> tuple[Taint, ...]:
        """The usual taint of GPU nodes, and one that keeps all other pods away."""
        return (GPU_TAINT, Taint("dedicated", self.name, "NoSchedule"))


def pool_name(workload: str) -> str:
    """Return a name for the pool of a workload: a label value, at most 63 characters.

    >>> pool_name("vllm-llama"), pool_name("My_Model!")
    ('vllm-llama-gpu', 'my-model-gpu')
    """
    plain = re.sub(r"[^a-z0-9-]+", "-", workload.lower()).strip("-")[:_LONGEST].strip("-")
    return f"{plain or 'vllm'}-gpu"


def pool_manifest(pool: NewPool) -> str:
    """Write the NodePool as YAML."""
    first = pool.instances[0]
    prefix = AUTO_MODE if pool.auto_mode else KARPENTER
    requirements = [
        f"{prefix}/instance-gpu-name: [{first.labels['instance-gpu-name']}]" if _has_name(first) else "",
        f"node.kubernetes.io/instance-type: [{', '.join(each.type for each in pool.instances)}]",
        f"karpenter.sh/capacity-type: [{', '.join(_CAPACITY[first.capacity])}]",
        f"kubernetes.io/arch: [{first.arch or 'amd64'}]",
    ]
    listed = [line.split(": ", 1) for line in requirements if line]
    lines = [
        "apiVersion: karpenter.sh/v1",
        "kind: NodePool",
        f"metadata: {{name: {pool.name}}}",
        "spec:",
        "  template:",
        *_metadata(pool.labels),
        "    spec:",
        "      requirements:",
        *(f"        - {{key: {key}, operator: In, values: {values}}}" for key, values in listed),
        f"      nodeClassRef: {_reference(pool.node_class)}",
        "      taints:",
        *(f"        - {_taint(taint)}" for taint in pool.taints),
        f"  limits: {{nvidia.com/gpu: {pool.gpus}}}",
        "  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 5m}",
    ]
    return "\n".join(lines) + "\n"


def class_manifest(name: str) -> str:
    """Write an EC2NodeClass for GPU nodes; what only the user knows stands there as CLUSTER_NAME."""
    discovery = f'{{karpenter.sh/discovery: "{CLUSTER}"}}'
    return f"""\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {{name: {name}}}
spec:
  role: "KarpenterNodeRole-{CLUSTER}"
  amiSelectorTerms:
    - alias: {AMI_ALIAS}
  subnetSelectorTerms:
    - tags: {discovery}
  securityGroupSelectorTerms:
    - tags: {discovery}
  blockDeviceMappings:
    - deviceName: /dev/xvda
      ebs: {{volumeSize: 300Gi, volumeType: gp3, encrypted: true}}
  instanceStorePolicy: RAID0
"""


def class_like(tree: Mapping[str, Any], name: str) -> str:
    """Write a copy of an EC2NodeClass whose image is one for GPUs: with ids or tags Karpenter cannot tell them apart.

    Args:
        tree: the class as plain values, numbers and booleans included.
        name: of the copy.
    """
    import yaml  # only where a class must be copied

    spec = {**tree.get("spec", {}), "amiSelectorTerms": [{"alias": AMI_ALIAS}]}
    spec.pop("amiFamily", None)
    copied = {
        "apiVersion": tree.get("apiVersion"),
        "kind": tree.get("kind"),
        "metadata": {"name": name},
        "spec": spec,
    }
    written: str = yaml.safe_dump(copied, sort_keys=False)
    return written


def knows_gpu_images(spec: Mapping[str, Any]) -> bool:
    """Tell whether a class chooses its image by an alias, which has a variant for NVIDIA cards."""
    terms = spec.get("amiSelectorTerms") or ()
    aliases = [term.get("alias", "") for term in terms if isinstance(term, Mapping)]
    return any(alias.startswith(("al2023@", "al2@", "bottlerocket@")) for alias in aliases)


def _metadata(labels: Mapping[str, str]) -> list[str]:
    if not labels:
        return []
    return ["    metadata:", "      labels:", *(f"        {key}: {json.dumps(label)}" for key, label in labels.items())]


def _reference(node_class: NodeClassRef) -> str:
    return f"{{group: {node_class.group}, kind: {node_class.kind}, name: {node_class.name}}}"


def _has_name(instance: Instance) -> bool:
    return "instance-gpu-name" in instance.labels


def _taint(taint: Taint) -> str:
    value = f'"{taint.value}"' if taint.value in {"true", "false"} else taint.value
    return f"{{key: {taint.key}, value: {value}, effect: {taint.effect}}}"
