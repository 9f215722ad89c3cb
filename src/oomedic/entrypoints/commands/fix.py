"""oomedic fix: diagnose, and with --apply change the live object, watch it, and take a change back that fails."""

import json
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from oomedic.claim import Claim, claim
from oomedic.entrypoints.commands.asking import engine_args, engine_options, given_checkpoint, library
from oomedic.entrypoints.commands.live import open_cluster
from oomedic.entrypoints.rollouts import Ended, Follower, Watching
from oomedic.entrypoints.targets import kind_and_name, seconds
from oomedic.entrypoints.terminal import catalogue, phrasebook, show
from oomedic.errors import ClusterError, UsageError
from oomedic.kube.json_patch import applied
from oomedic.kube.ownership import Reference, Tree, reference
from oomedic.live.rollout import Verdict, leaves_failing_pods, needs_room, pod_template, stuck
from oomedic.live.workload import LiveWorkload, is_failing
from oomedic.live_change import LiveChange, chosen, created_by, live_change, request, way_back
from oomedic.live_diagnosis import diagnose_live, edited_object
from oomedic.live_edit import Whole
from oomedic.planning.plan import Offer
from oomedic.question import Question
from oomedic.result import Patch, Report, Result
from oomedic.workloads.workload import Workload

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Sequence

    from oomedic.sources.cluster.cluster import Cluster

_TRIES: Final = 4
_FAILED: Final = 4
_FOUND: Final = 1


def run(options: "Namespace") -> int:
    """Fix one workload and return the exit status: 0 healthy, 1 found and not applied, 4 when the rollout failed."""
    facts = catalogue(options)
    known = library(options, facts)
    base = Question(
        command=engine_args(options, facts), options=engine_options(options), checkpoint=given_checkpoint(options)
    )
    with open_cluster(options) as cluster:
        live = cluster.workload(*kind_and_name(options.target))
        found, workloads = edited_object(live, facts)
        report = diagnose_live(live, base, known)
        offer = chosen(report.results[0].plan, options.remedy)
        whole = Whole(found, live.config_maps, workloads, live.former)
        change = live_change(whole, offer, spare=_has_spare(cluster, found, live, workloads))
        report = _with_patch(report, change)
        if not options.apply:
            show(report, options, facts)
            return _FOUND
        sys.stderr.write(change.diff)
        _require_own(change, forced=options.force_owner)
        if leaves_failing_pods(found) and any(is_failing(pod.found) for pod in live.pods):
            cluster.require_pod_deletion(change.target.namespace or "")
        follower = Follower(cluster, known, phrasebook(options), quiet=options.quiet)
        ended = _applied(cluster, follower, change, _plan_of(options, live, workloads, offer))
        report = _after(cluster, follower, change, report, ended, keep=options.no_rollback)
    show(report, options, facts)
    return 0 if ended.verdict.state == "healthy" else _FAILED


class _Course(NamedTuple):
    """What is watched for after the change."""

    workload: Workload | None
    watching: Watching


def _plan_of(options: "Namespace", live: LiveWorkload, workloads: "Sequence[Workload]", offer: Offer) -> _Course:
    kv = offer.after.kv if offer.after else None
    watching = Watching(
        seconds(options.timeout, "--timeout") or 0,
        seconds(options.soak, "--soak") or 0,
        kv.tokens if kv else None,
        bool(live.node_pools),
        frees=True,
    )
    return _Course(next((each for each in workloads if each.supported), None), watching)


def _applied(cluster: "Cluster", follower: Follower, change: LiveChange, course: _Course) -> Ended:
    """Send the request, dry run first, and watch what comes of it."""
    follower.say(claim("progress.applying", target=str(change.target)))
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())

    def patch(found: Tree) -> "Sequence[object]":
        try:
            applied(found, change.operations)
        except ValueError as error:
            raise ClusterError("change-conflict", target=str(change.target), reason=str(error)) from error
        return request(found, change, moment)

    try:
        _send_whole(cluster, change, patch)
        return _watched(follower, change, course)
    except KeyboardInterrupt:
        follower.say(claim("progress.interrupted", target=_word(change.target)))
        raise


def _watched(follower: Follower, change: LiveChange, course: _Course) -> Ended:
    try:
        return follower.follow(change.target, course.workload, course.watching)
    except ClusterError:
        follower.say(claim("progress.lost", target=_word(change.target)))
        raise


def _send_whole(cluster: "Cluster", change: LiveChange, patch: "Callable[[Tree], Sequence[object]]") -> None:
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


def send(cluster: "Cluster", target: Reference, patch: "Callable[[Tree], Sequence[object]]") -> None:
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


def take_back(cluster: "Cluster", target: Reference) -> tuple[Claim, ...]:
    """Take the recorded change back, and remove what was made for it and the pods that would outlast it.

    Returns what could not be removed.

    Raises:
        ClusterError: ``change-…``.
        UsageError: ``nothing-to-undo``.
    """
    made = created_by(cluster.look(target)[0])
    send(cluster, target, way_back)
    left: list[Claim] = []
    found, pods, _ = cluster.look(target)
    gone = [(each, None) for each in made] + [(reference(pod), pod["metadata"]["uid"]) for pod in stuck(found, pods)]
    for each, uid in gone:
        try:
            cluster.delete(each, uid)
        except ClusterError:
            left.append(claim("rollout.left-behind", left=f"{each.kind.lower()}/{each.name}"))
    return tuple(left)


def _after(
    cluster: "Cluster", follower: Follower, change: LiveChange, report: Report, ended: Ended, *, keep: bool
) -> Report:
    """Put the verdict into the report, and take a failed change back."""
    names = ", ".join(f"{each.target} {each.after}" for each in change.changes if not isinstance(each.after, dict))
    because = [claim("rollout.applied", target=str(change.target), changes=names), *ended.verdict.because]
    if ended.verdict.failed:
        because += _taken_back(cluster, follower, change.target, keep=keep)
    first = report.results[0]._replace(verdict=Verdict(ended.verdict.state, tuple(because)))
    second = ended.second.results if ended.second else ()
    return report._replace(results=(first, *report.results[1:], *second))


def _taken_back(cluster: "Cluster", follower: Follower, target: Reference, *, keep: bool) -> tuple[Claim, ...]:
    if keep:
        return (claim("rollout.kept", target=str(target)),)
    follower.say(claim("progress.back", target=str(target)))
    try:
        left = take_back(cluster, target)
    except (ClusterError, UsageError) as error:
        return (claim("rollout.not-rolled-back", target=str(target), reason=error.slug),)
    return (claim("rollout.rolled-back", target=str(target)), *left)


def _require_own(change: LiveChange, *, forced: bool) -> None:
    """Stop where Helm, Argo CD, Flux or the controller of another object keeps the object.

    Raises:
        UsageError: ``kept-elsewhere`` or ``object-owned``.
    """
    if change.owner is not None and not forced:
        raise UsageError("object-owned", owner=str(change.owner), unit=str(change.target))
    if change.kept_by and not forced:
        keeper = change.kept_by[0]
        raise UsageError("kept-elsewhere", tool=keeper.tool, name=keeper.name, target=str(change.target))


def _has_spare(cluster: "Cluster", found: Tree, live: LiveWorkload, workloads: "Sequence[Workload]") -> bool:
    """Tell whether a new pod can start beside the old one; with Karpenter a node for it can come."""
    if not needs_room(found):
        return True
    if live.node_pools:
        return True
    template = pod_template(found) or {}
    selector = (template.get("spec") or {}).get("nodeSelector") or {}
    wanted = max((each.gpus_per_pod or 1 for each in workloads), default=1)
    return cluster.has_spare_gpus(selector, wanted)


def _with_patch(report: Report, change: LiveChange) -> Report:
    text = json.dumps(list(change.operations), indent=2) + "\n"
    first: Result = report.results[0]._replace(patch=Patch("jsonpatch", text))
    return report._replace(results=(first, *report.results[1:]))


def _word(target: Reference) -> str:
    return f"{target.kind.lower()}/{target.name} -n {target.namespace}"
