"""oomedic diagnose: logs and manifests in, cause, budget, plan and change out."""

from typing import TYPE_CHECKING

from oomedic.entrypoints.commands.asking import engine_args, engine_options, given_checkpoint, library
from oomedic.entrypoints.terminal import catalogue, show
from oomedic.errors import UsageError
from oomedic.pipeline import Question, diagnose_crash
from oomedic.result import Report, Result
from oomedic.sources.files import in_folders, is_manifest, once, open_log, read_manifest

if TYPE_CHECKING:
    from argparse import Namespace

_SURE = ("certain", "likely", "possible", "never")


def run(options: "Namespace") -> int:
    """Diagnose and return the exit status."""
    facts = catalogue(options)
    targets = in_folders(options.target)
    logs = [*options.logs, *(path for path in targets if not is_manifest(path))]
    manifests = [*in_folders(options.manifest), *filter(is_manifest, targets)]
    if not logs and not manifests and not options.engine and not options.model:
        raise UsageError("nothing-asked")
    once((*logs, *manifests))
    question = Question(
        tuple(map(open_log, logs)),
        tuple(map(read_manifest, manifests)),
        engine_args(options, facts),
        engine_options(options),
        given_checkpoint(options),
    )
    report = diagnose_crash(question, library(options, facts))
    show(report, options, facts)
    return status(report, options.fail_on)


def status(report: Report, fail_on: str) -> int:
    """Return 1 for findings sure enough, 3 for a crash that is not recognised, else 0."""
    findings = [finding for result in report.results if result.diagnosis for finding in result.diagnosis.findings]
    if any(_SURE.index(finding.confidence) <= _SURE.index(fail_on) for finding in findings) and fail_on != "never":
        return 1
    return 3 if any(map(_unexplained, report.results)) else 0


def _unexplained(result: Result) -> bool:
    found = result.diagnosis is not None and bool(result.diagnosis.findings)
    return not found and result.outcome != "starts"
