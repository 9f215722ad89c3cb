"""What the engine would refuse of a configuration that has not run yet, before it asks for memory.

One file per kind of rule, each with functions that take the evidence and yield findings. The finding of a cause that
a crash would have shown carries that cause's code, so that its page and its remedies hold here too. Where memory
would run out, the causes tell themselves (``forecast``).
"""

from collections.abc import Mapping

from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.foresight.card import beyond_the_card
from oomedic.foresight.host import host_memory_short, shared_memory_short
from oomedic.foresight.limits import limits_in_conflict
from oomedic.foresight.parallelism import too_few_gpus
from oomedic.foresight.probes import probe_before_ready
from oomedic.foresight.rollout import Room, no_spare_gpu
from oomedic.foresight.words import words_that_are_refused
from oomedic.search.formats import Format

__all__ = ["Room", "hazards", "refusals"]


def refusals(evidence: Evidence, formats: Mapping[str, Format]) -> tuple[Finding, ...]:
    """Return what the engine refuses, in the order in which it would find it.

    ``formats`` are the ways of storing weights: what a card needs for each.
    """
    return (
        *words_that_are_refused(evidence),
        *too_few_gpus(evidence),
        *limits_in_conflict(evidence),
        *beyond_the_card(evidence, formats),
    )


def hazards(evidence: Evidence, room: Room) -> tuple[Finding, ...]:
    """Return what Kubernetes would do to a start that the GPU's memory allows.

    ``room`` is what the node pools let the pod have.
    """
    return (
        *host_memory_short(evidence),
        *shared_memory_short(evidence),
        *probe_before_ready(evidence),
        *no_spare_gpu(evidence, room),
    )
