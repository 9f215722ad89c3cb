"""oomedic fix: diagnose, and with --apply change the live object, watch it, and take a change back that fails."""

import json
import sys
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from oomedic.claim import Claim, claim
from oomedic.entrypoints.commands.asking import engine_args, engine_options, given_checkpoint, library
from oomedic.entrypoints.commands.live import open_cluster
from oomedic.entrypoints.live_requests import require_applicable, send_whole, take_back
from oomedic.entrypoints.rollouts import Ended, Follower, Watching
from oomedic.entrypoints.targets import kind_and_name, seconds
from oomedic.entrypoints.terminal import catalogue, phrasebook, show
from oomedic.errors import ClusterError, UsageError
from oomedic.kube.ownership import Reference, Tree
from oomedic.live.rollout import Verdict, leaves_failing_pods, needs_room, pod_template
from oomedic.live.workload import LiveWorkload, is_ready
from oomedic.live_change import LiveChange, chosen, live_change, request
from oomedic.live_diagnosis import diagnose_live, edited_object
from oomedic.live_edit import Whole
from oomedic.planning.plan import Offer
from oomedic.question import Question
from oomedic.result import Patch, Report, Result
from oomedic.workloads.workload import Workload

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from oomedic.sources.cluster.cluster import Cluster

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
        if leaves_failing_pods(found) and not all(is_ready(pod.found) for pod in live.pods):
            cluster.require_pod_deletion(change.target.namespace or "")
        follower = Follower(cluster, (known, base), phrasebook(options), quiet=options.quiet)
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
        require_applicable(found, change.operations, change.target)
        return request(found, change, moment)

    before = frozenset(str(pod["metadata"].get("uid")) for pod in cluster.look(change.target)[1])
    try:
        send_whole(cluster, change, patch)
        return _watched(follower, change, course._replace(watching=course.watching._replace(old=before)))
    except KeyboardInterrupt:
        follower.say(claim("progress.interrupted", target=_word(change.target)))
        raise


def _watched(follower: Follower, change: LiveChange, course: _Course) -> Ended:
    try:
        return follower.follow(change.target, course.workload, course.watching)
    except ClusterError:
        follower.say(claim("progress.lost", target=_word(change.target)))
        raise


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
    text = json.dumps(list(change.shown), indent=2) + "\n"
    first: Result = report.results[0]._replace(patch=Patch("jsonpatch", text))
    return report._replace(results=(first, *report.results[1:]))


def _word(target: Reference) -> str:
    return f"{target.kind.lower()}/{target.name} -n {target.namespace}"
