"""Logs that begin with their newest line, as consoles of CloudWatch and Loki show and export them, turned round."""

import re
from collections.abc import Iterable, Iterator
from itertools import chain, pairwise
from typing import Final

_HEAD: Final = 64 * 1024
_LARGEST: Final = 512 * 1024 * 1024
_FEWEST: Final = 5
_BEGINNINGS: Final = b'0123456789"[{ '
_STAMP: Final = (
    rb"[\s\"\[{]{0,8}(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?|\d{19}(?=\"))"
    rb"|\{.{0,4000}?\"(?:@timestamp|timestamp|time|ts)\":\s?\"?(\d[\d:.TZ -]{9,34})"
)


def oldest_first(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Turn a log round whose lines carry times that fall from line to line; others pass as they are.

    Only such a log is held in memory, up to 512 MB of it; a longer one passes as it is.
    """
    pieces = iter(chunks)
    head = b""
    while len(head) < _HEAD and (piece := next(pieces, b"")):
        head += piece
    if not _falls(head[:_HEAD]):
        yield head
        yield from pieces
        return
    held, size = [head], len(head)
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size > _LARGEST:
            yield from chain(held, pieces)
            return
    yield b"\n".join(reversed(b"".join(held).rstrip(b"\n").split(b"\n"))) + b"\n"


def _falls(head: bytes) -> bool:
    """Tell whether the times of the first lines only fall; one that rises decides at once."""
    lines = head.split(b"\n")[:-1] or [head]
    if not any(line[:1] and line[:1] in _BEGINNINGS for line in lines[:3]):
        return False  # no time can stand there, and the pattern need not be compiled
    stamps: list[bytes] = []
    for line in lines:
        found = re.match(_STAMP, line)
        stamp = (found[1] or found[2]) if found else None
        if stamp is None:
            continue
        if stamps and stamp > stamps[-1]:
            return False
        stamps.append(stamp)
    return len(stamps) >= _FEWEST and any(later < earlier for earlier, later in pairwise(stamps))
