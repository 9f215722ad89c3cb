"""What a pod spec says about the place of an engine: nodes, memory, shared memory and probes."""

from collections.abc import Mapping
from typing import Final

from oomedic.errors import UsageError
from oomedic.kube.requirement import Requirement, requirements_of
from oomedic.redaction import redact
from oomedic.units import parse_quantity
from oomedic.workloads.devices import whole
from oomedic.workloads.workload import Amount, Probe, Probes, Shm, Strategy
from oomedic.yamldoc.nodes import MappingNode, Node, get, items, text_of, texts_of

_SHM: Final = "/dev/shm"  # noqa: S108 - the mount path that NCCL and torch use, not a file of ours
_PERIOD, _FAILURES, _TIMEOUT = 10, 3, 1
_SHOWN: Final = 120
_ROLLING: Final = "RollingUpdate"


def node_selector(pod: Node | None) -> Mapping[str, str] | None:
    """Return the labels that a node must have, None if there is no selector."""
    return texts_of(get(pod, "nodeSelector")) or None


def node_affinity(pod: Node | None) -> Mapping[str, tuple[str, ...]] | None:
    """Return the required In terms, the values of alternative terms joined; None if there are none."""
    required = get(pod, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    found: dict[str, tuple[str, ...]] = {}
    for term in items(get(required, "nodeSelectorTerms")):
        for expression in items(get(term, "matchExpressions")):
            key = text_of(get(expression, "key"))
            if key is not None and text_of(get(expression, "operator")) == "In":
                values = (text_of(value) for value in items(get(expression, "values")))
                found[key] = found.get(key, ()) + tuple(value for value in values if value is not None)
    return found or None


def node_terms(pod: Node | None) -> tuple[tuple[Requirement, ...], ...]:
    """Return the terms of the required node affinity, one of which a node must satisfy."""
    required = get(pod, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    terms = (requirements_of(get(term, "matchExpressions")) for term in items(get(required, "nodeSelectorTerms")))
    return tuple(term for term in terms if term)


def tolerations(pod: Node | None) -> tuple[Mapping[str, str], ...]:
    """Return the tolerations as they are written."""
    return tuple(texts_of(toleration) for toleration in items(get(pod, "tolerations")))


def cpu_request(container: Node) -> Amount | None:
    """Return the processors that a container asks for, in thousandths; limits stand where no request does."""
    asked = (text_of(get(container, "resources", field, "cpu")) for field in ("requests", "limits"))
    written = next((text for text in asked if text is not None), None)
    if written is None:
        return None
    try:
        thousandths = float(written.removesuffix("m")) * (1 if written.endswith("m") else 1000)
    except ValueError:
        return Amount(None, written)
    return Amount(round(thousandths), written)


def memory(container: Node, field: str) -> Amount | None:
    """Return the memory in ``limits`` or ``requests``."""
    written = text_of(get(container, "resources", field, "memory"))
    return None if written is None else amount(written)


def amount(written: str) -> Amount:
    """Read a quantity of bytes; what cannot be read is kept as it is written."""
    try:
        return Amount(parse_quantity(written), written)
    except (UsageError, OverflowError):
        return Amount(None, written)


def shared_memory(container: Node, pod: Node | None) -> Shm:
    """Follow what is mounted at /dev/shm to its volume: names do not matter, mounts do."""
    for mount in items(get(container, "volumeMounts")):
        if (text_of(get(mount, "mountPath")) or "").rstrip("/") != _SHM:
            continue
        name = text_of(get(mount, "name"))
        for volume in items(get(pod, "volumes")):
            if text_of(get(volume, "name")) == name:
                size = text_of(get(volume, "emptyDir", "sizeLimit"))
                return Shm(mounted=True, size=size, bytes=amount(size).bytes if size else None)
        return Shm(mounted=True)
    return Shm(mounted=False)


def unmounted(pod: Node | None) -> tuple[str, ...]:
    """Return the volumes in memory that no container mounts: they are no one's /dev/shm."""
    containers = (*items(get(pod, "containers")), *items(get(pod, "initContainers")))
    mounted = {text_of(get(mount, "name")) for each in containers for mount in items(get(each, "volumeMounts"))}
    found = []
    for volume in items(get(pod, "volumes")):
        name = text_of(get(volume, "name"))
        if name and text_of(get(volume, "emptyDir", "medium")) == "Memory" and name not in mounted:
            found.append(name)
    return tuple(found)


def probes(container: Node) -> Probes:
    """Return the three probes of a container."""
    return Probes(
        probe(get(container, "startupProbe")),
        probe(get(container, "livenessProbe")),
        probe(get(container, "readinessProbe")),
    )


def probe(node: Node | None) -> Probe | None:
    """Return a probe with Kubernetes' defaults; its budget is ``initial + period x failures``."""
    if not isinstance(node, MappingNode):
        return None
    written = texts_of(node)
    initial = whole(written.get("initialDelaySeconds")) or 0
    period = whole(written.get("periodSeconds")) or _PERIOD
    failures = whole(written.get("failureThreshold")) or _FAILURES
    timeout = whole(written.get("timeoutSeconds")) or _TIMEOUT
    command = " ".join(text for text in map(text_of, items(get(node, "exec", "command"))) if text is not None)
    return Probe(
        initial,
        period,
        failures,
        timeout,
        initial + period * failures,
        path=text_of(get(node, "httpGet", "path")),
        tcp=text_of(get(node, "tcpSocket", "port")),
        exec=redact(command)[:_SHOWN] or None,
    )


def strategy(node: Node | None, surge: tuple[str, str] | None) -> Strategy:
    """Read a roll-out strategy; ``surge`` is what Kubernetes takes for maxSurge and maxUnavailable."""
    kind = text_of(get(node, "type"))
    if kind not in {None, _ROLLING} or surge is None:
        return Strategy(kind or _ROLLING, default=kind is None)
    rolling = get(node, "rollingUpdate")
    max_surge, max_unavailable = (text_of(get(rolling, field)) for field in ("maxSurge", "maxUnavailable"))
    default = max_surge is None and max_unavailable is None
    return Strategy(_ROLLING, max_surge or surge[0], max_unavailable or surge[1], default)
