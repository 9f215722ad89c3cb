"""Where a pod could land, and how it gets to another machine, for programs."""

from typing import Any

from oomedic.claim import Claim
from oomedic.patches.patching import move_patches
from oomedic.placement.move import Move
from oomedic.placement.placing import Placement
from oomedic.placement.verdict import CardVerdict
from oomedic.reports.phrases import Phrasebook


def as_placement(placement: Placement, phrases: Phrasebook) -> dict[str, Any]:
    """Return a verdict for each card that the pod may get, and why pools give no node."""
    return {
        "cards": [_card(verdict) for verdict in placement.verdicts],
        "closed": [{"node_pool": each.pool, "because": _claim(each.because, phrases)} for each in placement.closed],
    }


def as_move(move: Move, phrases: Phrasebook) -> dict[str, Any]:
    """Return one way to another machine; its patches in the order in which to apply them."""
    return {
        "way": move.way,
        "node_pool": move.pool,
        "remarks": [_claim(claim, phrases) for claim in move.remarks],
        "patches": [patch._asdict() for patch in move_patches(move)],
    }


def _card(verdict: CardVerdict) -> dict[str, Any]:
    landing, assessment = verdict.landing, verdict.assessment
    return {
        "gpu": landing.gpu.name,
        "gpu_memory": landing.gpu.memory._asdict(),
        "instances": [instance.type for instance in landing.instances],
        "node_pools": list(landing.pools),
        "outcome": assessment.outcome if assessment else "unknown",
        "phase": assessment.phase if assessment else None,
        "certainty": assessment.certainty if assessment else None,
    }


def _claim(claim: Claim, phrases: Phrasebook) -> dict[str, Any]:
    return {
        "message": claim.message,
        "parameters": dict(claim.parameters),
        "says": phrases.say(claim),
        "where": claim.where or None,
    }
