"""Re-computing a proposal: for the release at hand, or for all that remain where it is not known."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from oomedic.claim import Claim, claim
from oomedic.errors import OomedicError
from oomedic.evidence import Evidence
from oomedic.memory.assessment import Assessment, widened
from oomedic.remedy import Change, Proposal

if TYPE_CHECKING:
    from oomedic.version import Version

_NO_ARGUMENT = frozenset({"model", "gpu", "manual"})


class Spread(NamedTuple):
    """What a proposal comes to in the releases in which it starts, with the release in which it does not."""

    after: Assessment
    fails: Claim | None = None


def assessed(changes: Iterable[Change], proposal: Proposal, evidence: Evidence) -> Assessment:
    """Assess the configuration of the evidence with some changes.

    Raises:
        OomedicError: when the model cannot be split this way.
    """
    if evidence.config is None:
        raise AssertionError(evidence)
    values: dict[str, Any] = {
        change.target: change.after
        for change in changes
        if change.target not in _NO_ARGUMENT and not change.target.startswith("env.")
    }
    return evidence.assess(evidence.config.replaced(values), proposal.checkpoint, proposal.gpu)


def in_every_release(after: Assessment, changes: Iterable[Change], proposal: Proposal, evidence: Evidence) -> Spread:
    """Hold what starts in one release against the others that remain possible.

    The figures then are the least favourable, with bands over all in which it starts.
    """
    changes = tuple(changes)
    starting, fails = [after], None
    for other in evidence.others:
        try:
            found = assessed(changes, proposal, other)
        except OomedicError:
            continue  # this release has no such layers or cannot split them so: it is not the one that ran
        if found.outcome == "starts":
            starting.append(found)
        elif found.failed is not None and fails is None:
            fails = _fails(found, other.config.rules.version if other.config else None)
    spread = widened(starting)
    return Spread(spread if fails is None else spread._replace(certainty="edge"), fails)


def _fails(found: Assessment, release: "Version | None") -> Claim:
    missing = -found.failed.margin.value if found.failed else None
    return claim("plan.not-in-release", release=str(release), missing=missing, phase=found.phase)
