"""oomedic diagnose: logs and manifests in, cause, budget, plan and change out."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from oomedic.entrypoints.commands.asking import engine_args, engine_options, given_checkpoint, library
from oomedic.entrypoints.targets import asks_cluster
from oomedic.entrypoints.terminal import catalogue, show
from oomedic.errors import UsageError
from oomedic.pipeline import Question, diagnose_crash
from oomedic.result import Report, Result
from oomedic.sources.files import in_folders, once, open_log, read_manifest

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from oomedic.catalogue import Catalogue
    from oomedic.finding import Confidence

_BESIDE = ("--pod", "--describe", "--events", "--nvidia-smi")
_SURE = ("certain", "likely", "possible", "never")


def run(options: "Namespace") -> int:
    """Diagnose and return the exit status."""
    facts = catalogue(options)
    if asks_cluster(options):
        from oomedic.entrypoints.commands.live import diagnose  # only where a cluster is asked

        report = diagnose(options, facts)
    else:
        report = diagnose_crash(_question(options, facts), library(options, facts))
    show(report, options, facts)
    return status(report, options.fail_on)


def _question(options: "Namespace", facts: "Catalogue") -> Question:
    named = [(option, path) for option in _BESIDE for path in getattr(options, option.strip("-").replace("-", "_"))]
    manifests = (*options.manifest, *options.nodepool)
    files = (*options.target, *options.logs, *manifests, *options.before, *(path for _, path in named))
    if not files and not options.engine and not options.model:
        raise UsageError("nothing-asked")
    once(files)
    question = Question(
        tuple(map(open_log, options.logs)),
        tuple(map(read_manifest, in_folders(manifests))),
        engine_args(options, facts),
        engine_options(options),
        given_checkpoint(options),
    )
    if options.before:
        question = question._replace(before=_with_evidence(Question(), options.before, ()))
    return _with_evidence(question, options.target, named) if options.target or named else question


def _with_evidence(question: Question, targets: Sequence[str], named: Sequence[tuple[str, str]]) -> Question:
    """Add files of which the content tells what they are, and those that are neither log nor manifest."""
    from oomedic.sources.bundle import collect, read_named  # only where such files are given

    found = collect(targets)
    return question._replace(
        logs=question.logs + found.logs,
        manifests=question.manifests + found.manifests,
        beside=(*found.beside, *(read_named(option, path) for option, path in named)),
    )


def status(report: Report, fail_on: str) -> int:
    """Return 1 for what is sure enough: findings, or a crash that our arithmetic foresees.

    3 for a crash that is not recognised, or where too little is known to tell; else 0.
    """
    sure = [confidence for result in report.results for confidence in _confidences(result)]
    if fail_on != "never" and any(_SURE.index(confidence) <= _SURE.index(fail_on) for confidence in sure):
        return 1
    return 3 if any(map(_unexplained, report.results)) else 0


def _confidences(result: Result) -> "Iterator[Confidence]":
    if result.diagnosis is not None and result.diagnosis.findings:
        yield from (finding.confidence for finding in result.diagnosis.findings)
    elif _is_foreseen(result):
        sure = result.assessment.certainty if result.assessment is not None else "certain"
        yield "possible" if sure == "edge" else sure


def _unexplained(result: Result) -> bool:
    found = result.diagnosis is not None and bool(result.diagnosis.findings)
    return not found and not _is_foreseen(result) and result.outcome != "starts"


def _is_foreseen(result: Result) -> bool:
    return result.outcome == "crashes" and result.outcome_origin == "computed"
