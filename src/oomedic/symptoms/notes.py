"""What must be known of how the figures were reached: words that no engine reads, a release that is not known yet."""

from collections.abc import Iterator

from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence


def notes(evidence: Evidence) -> tuple[Claim, ...]:
    """Return what was not understood of the arguments, and where the arithmetic is not of the release at hand."""
    return (*_release(evidence), *_arguments(evidence))


def _release(evidence: Evidence) -> Iterator[Claim]:
    """Say that a release is newer than all that are known: it is taken for the newest of them."""
    rules = evidence.config.rules if evidence.config else None
    if rules is not None and evidence.version_known and rules.version[:2] > rules.newest[:2]:
        yield claim("notes.release-newer", version=str(rules.version), newest=str(rules.newest))


def _arguments(evidence: Evidence) -> Iterator[Claim]:
    if evidence.arguments.unknown and (evidence.workload is None or evidence.workload.server is None):
        yield claim("notes.arguments-unknown", flags=evidence.arguments.unknown)
    yield from evidence.arguments.problems
