"""Logs as collectors keep them: compressed by gzip or zstd, told by their first bytes, read in pieces."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from oomedic.errors import InputError

_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_PIECE: Final = 4 * 1024 * 1024


def decompressed(chunks: Iterable[bytes], name: str) -> Iterator[bytes]:
    """Pass plain pieces on as they are, and decompress others; what was cut off is read as far as it goes.

    Raises:
        InputError: ``compressed-unreadable`` where nothing of it can be read, ``zstd-unsupported`` where Python cannot.
    """
    pieces = iter(chunks)
    head = b""
    while len(head) < len(_ZSTD) and (piece := next(pieces, b"")):
        head += piece
    if not head:
        return
    if head.startswith(_GZIP):
        yield from _unpacked(_with(head, pieces), _gzip, name)
    elif head.startswith(_ZSTD):
        yield from _unpacked(_with(head, pieces), _zstd, name)
    else:
        yield from _with(head, pieces)


def _with(head: bytes, pieces: Iterator[bytes]) -> Iterator[bytes]:
    yield head
    yield from pieces


def _unpacked(chunks: Iterable[bytes], opener: Callable[[], Any], name: str) -> Iterator[bytes]:
    """Decompress one frame after the other: log rotation joins several in one file."""
    any_text = False
    frame: Any = None
    for chunk in chunks:
        rest = chunk
        while rest or (frame is not None and _is_waiting(frame)):
            frame = opener() if frame is None else frame
            try:
                text = frame.decompress(rest, _PIECE)
            except Exception as error:  # each library has an error of its own: zlib.error, ZstdError
                if any_text:
                    return  # what follows the first frames, or the rest of a broken one
                raise InputError("compressed-unreadable", path=name, reason=str(error)) from error
            rest = getattr(frame, "unconsumed_tail", b"")
            if text:
                any_text = True
                yield text
            if frame.eof:
                rest, frame = frame.unused_data, None


def _is_waiting(frame: Any) -> bool:
    """Tell whether a decompressor holds back text of what it was given: zstd's does so, zlib's hands it back."""
    return not getattr(frame, "needs_input", True) and not frame.eof


def _gzip() -> Any:
    import zlib  # only where a log is compressed

    return zlib.decompressobj(wbits=31)


def _zstd() -> Any:
    from importlib import import_module

    for module in ("compression.zstd", "backports.zstd"):
        try:
            return import_module(module).ZstdDecompressor()
        except ImportError:
            continue
    raise InputError("zstd-unsupported")
