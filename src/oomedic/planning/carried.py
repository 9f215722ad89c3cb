"""What a run lacked, held against another card or checkpoint: arithmetic for these knows nothing of the run."""

from oomedic.evidence import Evidence
from oomedic.memory.assessment import Assessment
from oomedic.memory.budget import ItemName
from oomedic.units import Bytes


def still_missing(after: Assessment, evidence: Evidence) -> Bytes:
    """Return what a profile run that died would still lack, 0 where the change makes up for it or nothing died there.

    A larger card, smaller weights and a smaller batch make up for what was missing. An encoder asks for the same again
    on any card, whatever the weights.
    """
    known, before = evidence.known, evidence.assessment
    if known.died != "profile_run" or known.missing is None or before is None:
        return 0
    totals = before.budget.total, after.budget.total
    gained = totals[1].value - totals[0].value if totals[0] and totals[1] else 0
    gained += _shrunk("weights", before, after)
    if known.asked is None:
        gained += _shrunk("activation", before, after)
    return max(0, known.missing - gained)


def _shrunk(name: ItemName, before: Assessment, after: Assessment) -> Bytes:
    one, two = before.budget.item(name), after.budget.item(name)
    return max(0, one.value - two.value) if one and two else 0
