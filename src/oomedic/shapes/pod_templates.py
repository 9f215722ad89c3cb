"""Pods inside objects of kinds that have no shape of their own: any controller writes a pod template down somewhere.

JobSet, Rollout, Knative's Service, ModelServing, RoleBasedGroup and the like differ in the way to the pod spec, hardly
in what stands there. A pod spec is known by its list of ``containers``; a runtime that has one container without a
list, by an image beside a command line. On the way down, ``replicas`` multiply, the names of list entries name the
roles, and what a group counts beside its leader (``size``, ``workerReplicas``) makes a replica larger.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from oomedic.kube.objects import KubeObject
from oomedic.workloads.devices import whole
from oomedic.workloads.pod_spec import PodTemplate, read_pod
from oomedic.workloads.reading import Reading
from oomedic.workloads.source import Source
from oomedic.yamldoc.nodes import MappingNode, Node, ScalarNode, SequenceNode, fields, get, pointer_token, text_of
from oomedic.yamldoc.rendered import listed, mapped, merged

_NO_PODS: Final = frozenset(("CustomResourceDefinition", "LLMInferenceServiceConfig", "Kustomization"))
"""Kinds that describe other objects: what looks like a pod in them runs nowhere."""
_MOST_NODES: Final = 20_000
"""Aliases can stand for more nodes than anybody wrote."""
_COPIES: Final = ("replicas", "parallelism")
_DIGITS: Final = 6
_ROLES: Final = frozenset(("prefill", "decode"))


class _Way(NamedTuple):
    """The way to a node: its pointer, the names of list entries, and how many pods there are of what stands below."""

    pointer: str = ""
    names: tuple[str, ...] = ()
    copies: int | None = 1
    group: int = 1


class _Pod(NamedTuple):
    """A pod spec, and the pointer and the way to it."""

    spec: Node
    way: _Way


def recognises(found: KubeObject) -> bool:
    """Tell whether a pod spec stands anywhere in an object of a kind that Kubernetes itself does not have."""
    own = ("." in found.group and not found.group.endswith("k8s.io")) or "x-k8s.io" in found.group
    return own and found.kind not in _NO_PODS and next(_pods(found.at("/spec")), None) is not None


def read(found: KubeObject, source: Source) -> Iterable[Reading]:
    """Return the engines of all pods; where one shows what it runs, those that only look like engines are none."""
    engines = [reading for pod in _pods(found.at("/spec")) for reading in _read(found, pod, source)]
    shown = [reading for reading in engines if reading.command.running]
    return shown or [reading for reading in engines if reading.workload.gpu_resource]


def _read(found: KubeObject, pod: _Pod, source: Source) -> Iterator[Reading]:
    way = pod.way
    template = PodTemplate(
        pod.spec,
        f"/spec{way.pointer}",
        unit="/".join((*way.names, "{container}")),
        replicas=way.copies,
        group_size=way.group,
    )
    role = next((name for name in way.names if name in _ROLES), None)
    yield from (reading.having(role=role) for reading in read_pod(found, template, source))


def _pods(spec: Node | None) -> Iterator[_Pod]:
    """Yield the pod specs below a node, in the order in which they are written."""
    waiting, looked_at = [(spec, _Way())], 0
    while waiting and looked_at < _MOST_NODES:
        node, way = waiting.pop()
        looked_at += 1
        if isinstance(node, MappingNode):
            pod = _pod(node)
            if pod is not None:
                yield _Pod(pod, way)
                continue
            inside = _counted(node, way)
            waiting += reversed([(each, _below(inside, key)) for key, each in fields(node).items()])
        elif isinstance(node, SequenceNode):
            waiting += reversed([(each, _entry(way, index, each)) for index, each in enumerate(node.items)])


def _pod(node: MappingNode) -> Node | None:
    """Return a pod spec: the node itself, or one around the only container that the node has."""
    containers = get(node, "containers")
    if isinstance(containers, SequenceNode) and any(isinstance(each, MappingNode) for each in containers.items):
        return node
    for each in fields(node).values():
        if isinstance(get(each, "image"), ScalarNode) and isinstance(get(each, "args") or get(each, "command"), Node):
            return merged(node, mapped({"containers": listed([each])}))
    return None


def _counted(node: MappingNode, way: _Way) -> _Way:
    copies, group = way.copies, way.group
    for name in _COPIES:
        written = get(node, name)
        if isinstance(written, ScalarNode):
            number = whole(text_of(written))
            copies = None if copies is None or number is None else copies * number
    size, workers = (_number(get(node, name)) for name in ("size", "workerReplicas"))
    return way._replace(copies=copies, group=size or (workers + 1 if workers else group))


def _number(node: Node | None) -> int | None:
    """Read a number of pods; a size may also be one of a volume."""
    text = text_of(node)
    return int(text) if text is not None and text.isdecimal() and len(text) < _DIGITS else None


def _below(way: _Way, key: str) -> _Way:
    return way._replace(pointer=f"{way.pointer}/{pointer_token(key)}")


def _entry(way: _Way, index: int, entry: Node) -> _Way:
    name = text_of(get(entry, "name"))
    return way._replace(pointer=f"{way.pointer}/{index}", names=(*way.names, name) if name else way.names)
