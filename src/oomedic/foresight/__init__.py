"""What a configuration that has not run yet will die of: by the engine's own rules, then by its arithmetic.

One file per kind of rule, each with functions that take the evidence and yield findings. The finding of a cause that
a crash would have shown carries that cause's code, so that its page and its remedies hold here too.
"""

from collections.abc import Mapping

from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.foresight.card import beyond_the_card
from oomedic.foresight.limits import limits_in_conflict
from oomedic.foresight.memory import lack_of_memory
from oomedic.foresight.parallelism import too_few_gpus
from oomedic.foresight.words import words_that_are_refused
from oomedic.search.formats import Format

__all__ = ["foreseen", "lack_of_memory", "refusals"]


def foreseen(evidence: Evidence, formats: Mapping[str, Format]) -> tuple[Finding, ...]:
    """Return everything that keeps a configuration from starting, in the order in which the engine would find it.

    What is only possible comes last. ``formats`` are the ways of storing weights: what a card needs for each.
    """
    found = (*refusals(evidence, formats), *lack_of_memory(evidence.assessment))
    return tuple(sorted(found, key=lambda finding: finding.confidence == "possible"))


def refusals(evidence: Evidence, formats: Mapping[str, Format]) -> tuple[Finding, ...]:
    """Return what the engine refuses before it asks for memory."""
    return (
        *words_that_are_refused(evidence),
        *too_few_gpus(evidence),
        *limits_in_conflict(evidence),
        *beyond_the_card(evidence, formats),
    )
