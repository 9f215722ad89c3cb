"""torch's out-of-memory message: who holds what on the device at the moment of death.

    total = free + this process + others;  this process = allocated + reserved but unallocated + context and libraries

Inside a container the process list shows host pids, so that the engine itself may appear as a stranger: then the one
whose memory agrees with what torch allocated is this process.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from oomedic.figure import Figure, exactly
from oomedic.logs.signatures import Event
from oomedic.units import GIB, Bytes

OOM_SIGNATURES: Final = ("torch_out_of_memory", "allocator_out_of_memory")
_CONTEXT: Final = 3 * GIB // 2
"""A process holds at most about this much beyond what torch reserved: CUDA context, NCCL, graphs of libraries."""


class OutOfMemory(NamedTuple):
    """One message. ``own`` is all that this process holds, ``others`` all that other processes hold."""

    event: Event
    tried: Figure | None
    total: Figure | None
    free: Figure | None
    own: Figure | None
    others: Figure | None
    allocated: Figure | None
    unallocated: Figure | None
    graph_pool: Figure | None


def out_of_memory(event: Event) -> OutOfMemory:
    """Read the message's figures; what it does not say stays None."""
    fields = event.fields

    def figure(name: str) -> Figure | None:
        value = fields.get(name)
        return value if isinstance(value, Figure) else None

    total, free, allocated = figure("total"), figure("free"), figure("allocated")
    reserved = figure("reserved")
    unallocated = figure("reserved_unallocated")
    if unallocated is None and reserved is not None and allocated is not None:
        unallocated = reserved.minus(allocated)
    own = _own(figure("in_use"), allocated) or _own_from_list(fields.get("others"), allocated, reserved)
    others = _others(total, free, own, fields.get("others"))
    return OutOfMemory(
        event, figure("tried"), total, free, own, others, allocated, unallocated, figure("private_pools")
    )


def processes(message: OutOfMemory) -> list[tuple[int, Bytes]]:
    """Return the processes that the message lists beside this one: their ids, as the host counts them, and memory."""
    listed = message.event.fields.get("others")
    rows = [row for row in listed if isinstance(row, Mapping)] if isinstance(listed, tuple) else []
    return [
        (pid, memory.value)
        for row in rows
        if isinstance(pid := row.get("pid"), int) and isinstance(memory := row.get("memory"), Figure)
    ]


def _own(in_use: Figure | None, allocated: Figure | None) -> Figure | None:
    """Return what the driver counts for this process; in some containers it counts nothing for any process."""
    counted = in_use is not None and (in_use.value > 0 or allocated is None or allocated.value == 0)
    return in_use if counted else None


def _own_from_list(listed: object, allocated: Figure | None, reserved: Figure | None) -> Figure | None:
    """Find this process in the list of strangers, or take what torch reserved of a message without a list."""
    memories = [memory for memory in _memories(listed) if memory is not None]
    known = reserved or allocated
    if not memories:
        return None if reserved is None else reserved._replace(high=reserved.high + _CONTEXT)
    if known is None:
        return memories[0] if len(memories) == 1 else None
    fitting = [memory for memory in memories if 0 <= memory.value - known.value + GIB // 8 <= _CONTEXT + GIB]
    return min(fitting, key=lambda memory: abs(memory.value - known.value), default=None)


def _others(total: Figure | None, free: Figure | None, own: Figure | None, listed: object) -> Figure | None:
    if total is None or free is None:
        return None
    if own is not None:
        rest = total.minus(free).minus(own)
        return rest._replace(value=max(0, rest.value), low=max(0, rest.low), high=max(0, rest.high))
    memories = _memories(listed)
    if len(memories) > 1:
        # whichever of them is this process, the rest of the list are others
        largest = max(memories, key=lambda memory: memory.value)
        rest = total.minus(free).minus(largest)
        return rest._replace(value=max(0, rest.value), low=max(0, rest.low), high=max(0, rest.high))
    return exactly(0, "assumed", total.where) if memories else None


def _memories(listed: object) -> list[Figure]:
    if not isinstance(listed, tuple):
        return []
    rows = [row for row in listed if isinstance(row, Mapping)]
    return [row["memory"] for row in rows if isinstance(row.get("memory"), Figure)]
