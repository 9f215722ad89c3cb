"""Processes on a card that are no neighbours: the ranks of the engine itself."""

from typing import Final

from oomedic.evidence import Evidence
from oomedic.logs.memory_error import OutOfMemory, processes
from oomedic.units import GIB, Bytes

_CONTEXT: Final[Bytes] = 2 * GIB
"""A rank's context on a card that is not its own, with NCCL's buffers."""
_STARTED_TOGETHER: Final = 16
"""Ranks are started one after the other: their process ids differ by few."""


def are_siblings(evidence: Evidence, message: OutOfMemory) -> bool:
    """Tell whether the listed processes are ranks of this engine, each of which left its context on this card."""
    ranks = evidence.config.ranks if evidence.config else 1
    rows = [(pid, size) for pid, size in processes(message) if size]
    if not 0 < len(rows) < ranks:
        return False
    pids, sizes = [pid for pid, _ in rows], [size for _, size in rows]
    alike = max(sizes) <= _CONTEXT and max(sizes) - min(sizes) <= max(sizes) // 10
    return alike and max(pids) - min(pids) < _STARTED_TOGETHER * ranks
