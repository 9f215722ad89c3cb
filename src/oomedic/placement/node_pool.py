"""Karpenter's NodePools and the classes of nodes that they refer to, read from manifests.

The same objects, ``karpenter.sh/v1``, serve self-managed Karpenter (EC2NodeClass, labels of karpenter.k8s.aws) and EKS
Auto Mode (NodeClass, labels of eks.amazonaws.com).
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from oomedic.kube.objects import KubeObject, objects_of
from oomedic.kube.requirement import Requirement, requirements_of
from oomedic.kube.taint import Taint, taints_of
from oomedic.yamldoc.nodes import get, text_of, texts_of
from oomedic.yamldoc.text import YamlFile, compose

KARPENTER: Final = "karpenter.k8s.aws"
AUTO_MODE: Final = "eks.amazonaws.com"
_GROUP: Final = "karpenter.sh"


class NodeClassRef(NamedTuple):
    """Which class of nodes a pool makes."""

    group: str
    kind: str
    name: str


_AUTO_MODE_FAMILIES: Final = frozenset(
    (
        *("p6-b200", "p6-b300", "p5", "p5e", "p5en", "p4d", "p4de", "p3dn"),
        *("g7e", "g6", "gr6", "g6e", "g5g", "g5", "g4dn"),
    )
)
"""Families with cards for CUDA that EKS Auto Mode supports (amazon-eks-user-guide, automode-learn-instances, 2026)."""


class NodePool(NamedTuple):
    """One pool.

    Attributes:
        labels: that its nodes get.
        limits: by resource name, as written ("8", "1000").
        path: of the file, and where in it (document, item of a List).
    """

    name: str
    requirements: tuple[Requirement, ...]
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    limits: Mapping[str, str]
    node_class: NodeClassRef
    weight: int = 0
    path: str = ""
    place: tuple[int, int | None] = (0, None)

    @property
    def auto_mode(self) -> bool:
        """Tell whether EKS Auto Mode makes its nodes."""
        return self.node_class.group == AUTO_MODE

    def makes(self, family: str) -> bool:
        """Tell whether the pool's controller makes nodes of a family of instance types at all."""
        return not self.auto_mode or family in _AUTO_MODE_FAMILIES

    @property
    def prefix(self) -> str:
        """The domain of the labels that say what an instance has."""
        return AUTO_MODE if self.auto_mode else KARPENTER

    @property
    def built_in(self) -> bool:
        """Tell whether Auto Mode made it: such pools cannot be edited, and have no GPU instances."""
        return self.auto_mode and self.name in {"general-purpose", "system"}


def read_node_pools(text: str, path: str) -> tuple[NodePool, ...]:
    """Read every NodePool of a file; other objects are passed over.

    Raises:
        InputError: ``yaml-…`` with the place.
    """
    return node_pools_of(compose(text, path))


def node_pools_of(file: YamlFile) -> tuple[NodePool, ...]:
    """Return the NodePools of a file that was read already."""
    return node_pools_among(objects_of(file))


def node_pools_among(objects: Iterable[KubeObject]) -> tuple[NodePool, ...]:
    """Return the NodePools among some objects."""
    return tuple(_pool(found, found.file.path) for found in objects if is_node_pool(found))


def is_node_pool(found: KubeObject) -> bool:
    """Tell whether an object is a NodePool of Karpenter."""
    return found.kind == "NodePool" and found.group == _GROUP


def is_auto_mode(pools: Iterable[NodePool], labels: Mapping[str, str]) -> bool:
    """Tell whether EKS Auto Mode makes the nodes: by its pools, else by the labels that a pod asks for."""
    pools = tuple(pools)
    if pools:
        return all(pool.auto_mode for pool in pools)
    return any(key.startswith(AUTO_MODE) for key in labels)


def _pool(found: KubeObject, path: str) -> NodePool:
    template = found.at("/spec/template")
    spec = get(template, "spec")
    reference = texts_of(get(spec, "nodeClassRef"))
    weight = text_of(found.at("/spec/weight")) or "0"
    return NodePool(
        found.name,
        requirements_of(get(spec, "requirements")),
        texts_of(get(template, "metadata", "labels")),
        taints_of(get(spec, "taints")),
        texts_of(found.at("/spec/limits")),
        NodeClassRef(reference.get("group", KARPENTER), reference.get("kind", ""), reference.get("name", "")),
        int(weight) if weight.isdecimal() else 0,
        path,
        (found.document, found.item),
    )
