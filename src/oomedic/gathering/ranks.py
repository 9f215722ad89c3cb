"""Over how many GPUs a run was spread, as the names of its processes tell where no argument does."""

import re
from collections.abc import Sequence
from typing import Final

from oomedic.arguments.given import EngineArgs, Given
from oomedic.logs.fields import count
from oomedic.logs.signatures import Event

_LABEL: Final = re.compile(r"_TP(\d{1,4})")
_LARGEST: Final = 1024


def spread_of(events: Sequence[Event]) -> EngineArgs:
    """Return the parallel sizes that the log shows: of the group of ranks, else of the names of its workers.

    Workers are named after their rank ("Worker_TP3"), and sizes are powers of two: from the highest that printed
    something follows the least size. One worker alone shows none.
    """
    members = [event for event in events if event.signature == "world_rank"]
    if members:
        return _of_the_group(members)
    labelled = [(int(found[1]), event.line) for event in events if event.rank and (found := _LABEL.search(event.rank))]
    highest, line = max(labelled, default=(0, 0))
    if not 0 < highest < _LARGEST:
        return EngineArgs({})
    return EngineArgs({"tensor_parallel_size": Given(_least_size(highest), f"log:{line}")})


def _of_the_group(members: Sequence[Event]) -> EngineArgs:
    """Read sizes off the members that printed something; the group counts data-parallel replicas too."""
    stages = 1 + max(count(event, "pp_rank") or 0 for event in members)
    highest = max(count(event, "tp_rank") or 0 for event in members)
    size = max(count(event, "world_size") or 1 for event in members)
    where = f"log:{members[0].line}"
    sizes = {"tensor_parallel_size": min(size // stages, _least_size(highest)), "pipeline_parallel_size": stages}
    return EngineArgs({name: Given(value, where) for name, value in sizes.items() if value > 1})


def _least_size(highest: int) -> int:
    return 1 << min(highest, _LARGEST).bit_length()
