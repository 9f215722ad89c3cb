"""Sending a change to the cluster and taking it back: dry run first, wholly or not at all."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from oomedic.claim import Claim, claim
from oomedic.errors import ClusterError
from oomedic.kube.json_patch import applied
from oomedic.kube.ownership import Reference, Tree, reference
from oomedic.live.rollout import stuck
from oomedic.live_change import LiveChange, created_by, way_back

if TYPE_CHECKING:
    from oomedic.sources.cluster.cluster import Cluster

_TRIES: Final = 4


def send_whole(cluster: "Cluster", change: LiveChange, patch: Callable[[Tree], Sequence[object]]) -> None:
    """Make what must be there first, and send the request; where that does not happen, what was made goes again.

    Raises:
        ClusterError: ``change-…``.
    """
    for each in change.created:
        cluster.create(each, dry_run=True)
    made: list[Reference] = []
    try:
        for each in change.created:
            if cluster.create(each, dry_run=False):
                made.append(reference(each))  # noqa: PERF401 - kept also when the next one fails
        send(cluster, change.target, patch)
    except ClusterError as error:
        # where nobody knows whether the object refers to it already, it stays
        for left in made if error.slug != "change-unknown" else ():
            with suppress(ClusterError):
                cluster.delete(left)
        raise


def send(cluster: "Cluster", target: Reference, patch: Callable[[Tree], Sequence[object]]) -> None:
    """Send a request as a dry run and then in earnest; made anew where the object's status changed meanwhile.

    Raises:
        ClusterError: ``change-…``.
    """
    for attempt in range(_TRIES):
        found, _, _ = cluster.look(target)
        operations = patch(found)
        try:
            cluster.change(target, operations, dry_run=True)  # type: ignore[arg-type] # operations are mappings
            cluster.change(target, operations, dry_run=False)  # type: ignore[arg-type] # see above
        except ClusterError as error:
            if error.slug != "change-conflict" or attempt == _TRIES - 1:
                raise
        else:
            return


def require_applicable(found: Tree, operations: Sequence[Mapping[str, object]], target: Reference) -> None:
    """Pass where every old value is as expected: the API server would refuse the rest without saying which.

    Raises:
        ClusterError: ``change-conflict``.
    """
    try:
        applied(found, operations)
    except ValueError as error:
        raise ClusterError("change-conflict", target=str(target), reason=str(error)) from error


def take_back(cluster: "Cluster", target: Reference) -> tuple[Claim, ...]:
    """Take the recorded change back, and remove what was made for it and the pods that would outlast it.

    Returns what could not be removed.

    Raises:
        ClusterError: ``change-…``.
        UsageError: ``nothing-to-undo``.
    """
    made = created_by(cluster.look(target)[0])

    def back(found: Tree) -> Sequence[object]:
        operations = way_back(found)
        require_applicable(found, operations, target)
        return operations

    send(cluster, target, back)
    left: list[Claim] = []
    found, pods, _ = cluster.look(target)
    gone = [(each, None) for each in made] + [(reference(pod), pod["metadata"]["uid"]) for pod in stuck(found, pods)]
    for each, uid in gone:
        try:
            cluster.delete(each, uid)
        except ClusterError:
            left.append(claim("rollout.left-behind", left=f"{each.kind.lower()}/{each.name}"))
    return tuple(left)
