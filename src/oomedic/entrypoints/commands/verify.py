"""oomedic verify: watch a workload until it is ready, and ask its server."""

from typing import TYPE_CHECKING

from oomedic.answer import versions_of
from oomedic.entrypoints.commands.asking import library
from oomedic.entrypoints.commands.live import open_cluster
from oomedic.entrypoints.rollouts import Follower, Watching
from oomedic.entrypoints.targets import kind_and_name, seconds
from oomedic.entrypoints.terminal import catalogue, phrasebook, show
from oomedic.evidence import Subject
from oomedic.kube.ownership import reference
from oomedic.live_diagnosis import edited_object
from oomedic.memory.assessment import Outcome
from oomedic.question import Question
from oomedic.result import Report, Result

if TYPE_CHECKING:
    from argparse import Namespace

_FAILED = 4


def run(options: "Namespace") -> int:
    """Verify one workload and return the exit status: 0 healthy, 4 otherwise."""
    facts = catalogue(options)
    known = library(options, facts)
    watching = Watching(seconds(options.timeout, "--timeout") or 0, seconds(options.soak, "--soak") or 0)
    with open_cluster(options) as cluster:
        live = cluster.workload(*kind_and_name(options.target))
        found, workloads = edited_object(live, facts)
        follower = Follower(cluster, (known, Question()), phrasebook(options), quiet=options.quiet)
        workload = next((each for each in workloads if each.supported), None)
        watching = watching._replace(has_pools=bool(live.node_pools))
        ended = follower.follow(reference(found), workload, watching)
    target = reference(found)
    unit = workload.unit if workload else str(target)
    subject = Subject(unit, target.kind, target.namespace, target.name, workload.container if workload else None)
    outcome: Outcome = "starts" if ended.verdict.state == "healthy" else "unknown"
    result = Result(subject, outcome, "printed", None, verdict=ended.verdict)
    second = ended.second.results if ended.second else ()
    show(Report((result, *second), versions_of(known)), options, facts)
    return 0 if ended.verdict.state == "healthy" else _FAILED
