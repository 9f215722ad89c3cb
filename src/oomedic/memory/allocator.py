"""torch's CUDA caching allocator (c10/cuda/CUDACachingAllocator.cpp): what it counts for tensors of given sizes.

A tensor takes a block. Blocks up to 1 MiB are rounded to 512 bytes. Larger ones are cut from segments, of 20 MiB for
less than 10 MiB and else of whole 2 MiB, where more than 1 MiB would be left over; what is left serves the next ones.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable
from typing import Final

from oomedic.models.modules import round_up
from oomedic.units import MIB, Bytes

_SMALL: Final = MIB
_LARGE: Final = 10 * MIB
_SEGMENT: Final = 20 * MIB
_GRAIN: Final = 512


def counted(sizes: Iterable[Bytes], *, whole_segments: bool = False) -> Bytes:
    """Return the bytes in blocks after these tensors were allocated in this order.

    Args:
        sizes: of the tensors.
        whole_segments: blocks of more than 20 MiB are never cut (max_split_size_mb=20).
    """
    total = 0
    left: list[Bytes] = []
    for size in sizes:
        wanted = round_up(size, _GRAIN)
        if wanted <= _SMALL:
            total += wanted
            continue
        fitting = bisect_left(left, wanted)
        block = left.pop(fitting) if fitting < len(left) else _segment(wanted)
        rest = block - wanted
        if rest <= _SMALL or (whole_segments and block > _SEGMENT):
            total += block
        else:
            total += wanted
            insort(left, rest)
    return total


def _segment(wanted: Bytes) -> Bytes:
    return _SEGMENT if wanted < _LARGE else round_up(wanted, 2 * MIB)
