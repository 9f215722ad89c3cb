"""The status of a pod: how its containers live and end, why it waits, who made it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from oomedic.observed.facts import ContainerState, PodState, Termination
from oomedic.observed.leaves import at, mappings, number, seconds_between, text

_STATUSES: Final = (("initContainerStatuses", True), ("containerStatuses", False))


def pod_state(tree: Mapping[str, Any], where: str) -> PodState:
    """Read a Pod object; ``where`` is a prefix for the pointers into it."""
    metadata, status = at(tree, "metadata"), at(tree, "status")
    return PodState(
        name=text(metadata, "name") or "",
        namespace=text(metadata, "namespace"),
        where=f"{where}status",
        reason=text(status, "reason"),
        message=text(status, "message"),
        unschedulable=_unschedulable(status),
        node=text(at(tree, "spec"), "nodeName"),
        owner=_owner(metadata),
        containers=tuple(_containers(status, f"{where}status")),
    )


def _owner(metadata: Mapping[str, Any]) -> str | None:
    owner = next(iter(mappings(metadata, "ownerReferences")), None)
    return None if owner is None else f"{text(owner, 'kind')}/{text(owner, 'name')}"


def _unschedulable(status: Mapping[str, Any]) -> str | None:
    for condition in mappings(status, "conditions"):
        if text(condition, "type") == "PodScheduled" and text(condition, "status") == "False":
            return text(condition, "message") or text(condition, "reason")
    return None


def _containers(status: Mapping[str, Any], where: str) -> Iterator[ContainerState]:
    for field, init in _STATUSES:
        for index, container in enumerate(mappings(status, field)):
            yield _container(container, f"{where}.{field}[{index}]")._replace(init=init)


def _container(container: Mapping[str, Any], where: str) -> ContainerState:
    state = at(container, "state")
    current = next(iter(state), None)
    waiting = at(state, "waiting")
    ends = [
        _termination(at(container, field, "terminated"), f"{where}.{field}.terminated")
        for field in ("lastState", "state")
        if at(container, field, "terminated")
    ]
    return ContainerState(
        name=text(container, "name") or "",
        where=f"{where}.state.waiting" if waiting else where,
        state=current,
        reason=text(waiting, "reason"),
        message=text(waiting, "message"),
        ends=tuple(ends),
        restarts=number(container, "restartCount"),
    )


def _termination(ended: Mapping[str, Any], where: str) -> Termination:
    return Termination(
        text(ended, "reason"),
        number(ended, "exitCode"),
        seconds_between(text(ended, "startedAt"), text(ended, "finishedAt")),
        text(ended, "message"),
        where,
    )


def engine_container(pod: PodState, name: str | None) -> ContainerState | None:
    """Return the container of that name, else the one that fares worst."""
    named = next((container for container in pod.containers if container.name == name), None)
    own: Sequence[ContainerState] = [container for container in pod.containers if not container.init]
    return named or max(own, key=_distress, default=None)


def _distress(container: ContainerState) -> tuple[bool, int]:
    failed = any(end.exit_code for end in container.ends)
    return failed, container.restarts or 0
