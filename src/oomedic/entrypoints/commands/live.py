"""Commands about a cluster, and the one place where its client is loaded."""

from typing import TYPE_CHECKING

from oomedic.answer import versions_of
from oomedic.catalogue import Catalogue
from oomedic.entrypoints.commands.asking import engine_args, engine_options, given_checkpoint, library
from oomedic.entrypoints.targets import kind_and_name, seconds
from oomedic.errors import MissingExtra
from oomedic.live_diagnosis import diagnose_live, runs_an_engine
from oomedic.pipeline import Question
from oomedic.question import Library
from oomedic.result import Report

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from oomedic.live.workload import LiveWorkload
    from oomedic.sources.cluster.cluster import Cluster


def open_cluster(options: "Namespace", since_s: int | None = None, *, probes: bool = False) -> "Cluster":
    """Connect as the options say.

    Raises:
        MissingExtra: ``extra-missing``.
        ClusterError: when the cluster cannot be reached.
    """
    try:
        from oomedic.sources.cluster.cluster import Cluster
        from oomedic.sources.cluster.connection import Access
    except ModuleNotFoundError as error:
        raise MissingExtra("extra-missing", extra="cluster") from error
    access = Access(
        options.kubeconfig,
        options.context,
        options.namespace,
        options.as_user,
        tuple(options.as_group),
        seconds(options.request_timeout, "--request-timeout") or 0,
    )
    return Cluster(access, since_s, probes=probes)


def diagnose(options: "Namespace", facts: Catalogue) -> Report:
    """Diagnose the targets, or every failing engine of a namespace or of the cluster."""
    base = Question(
        command=engine_args(options, facts), options=engine_options(options), checkpoint=given_checkpoint(options)
    )
    known = library(options, facts)
    with open_cluster(options, seconds(options.since), probes=options.probe_node) as cluster:
        reports = [diagnose_live(live, base, known) for live in _workloads(options, cluster, facts)]
    return joined(reports, known)


def joined(reports: list[Report], known: Library) -> Report:
    """Join reports of several workloads, those with a cause first."""
    results = [result for report in reports for result in report.results]
    results.sort(key=lambda result: not (result.diagnosis and result.diagnosis.findings))
    return Report(tuple(results), versions_of(known))


def _workloads(options: "Namespace", cluster: "Cluster", facts: Catalogue) -> "Iterator[LiveWorkload]":
    from oomedic.sources.cluster.collection import Scope

    for word in options.target:
        yield cluster.workload(*kind_and_name(word))
    if not options.target:
        scope = Scope(None if options.all_namespaces else cluster.namespace, options.selector)
        yield from cluster.failing(scope, lambda pod: runs_an_engine(pod, facts))
