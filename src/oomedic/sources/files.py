"""What lies in files: logs, manifests, a model's config; and writing that never leaves half a file."""

import errno
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from oomedic.errors import InputError, UsageError
from oomedic.models.checkpoint import Checkpoint
from oomedic.question import Log, Manifest
from oomedic.sources.compression import decompressed

_CHUNK = 4 * 1024 * 1024
_MANIFEST_LIMIT = 64 * 1024 * 1024
_CONFIG_LIMIT = 64 * 1024 * 1024
_BINARY_SHARE = 0.3
_SAMPLE = 64 * 1024
_MANIFESTS = (".yaml", ".yml", ".json")
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_CONTROLS = bytes(set(range(0x20)) - set(b"\t\n\r\x1b\x08\x0c"))


def is_manifest(path: str) -> bool:
    """Tell a manifest from a log by its name."""
    return path.lower().endswith(_MANIFESTS)


def in_folders(paths: Iterable[str]) -> list[str]:
    """Return the paths with every folder replaced by the files in it and below it, hidden ones left out.

    A folder that may not be entered stands for itself: reading it tells why.

    Raises:
        InputError: ``folder-empty``.
    """
    found: list[str] = []
    for path in paths:
        inside = _inside(path) if os.path.isdir(path) else [path]
        if not inside:
            raise InputError("folder-empty", path=path)
        found += inside
    return found


def _inside(folder: str) -> list[str]:
    closed: list[OSError] = []
    files = sorted(
        os.path.join(inner, name)
        for inner, folders, names in os.walk(folder, onerror=closed.append)
        if not _hide(folders)
        for name in names
        if not name.startswith(".")
    )
    return [*files, *(str(error.filename) for error in closed)]


def _hide(folders: list[str]) -> bool:
    """Keep ``os.walk`` from going into hidden folders."""
    folders[:] = [name for name in folders if not name.startswith(".")]
    return False


def once(paths: Iterable[str]) -> None:
    """Refuse to read standard input for two things.

    Raises:
        UsageError: ``stdin-twice``.
    """
    if list(paths).count("-") > 1:
        raise UsageError("stdin-twice")


def open_log(path: str) -> Log:
    """Return a log, read in pieces as it is consumed; ``-`` is standard input.

    Raises:
        InputError: ``file-missing``, ``file-unreadable``, ``is-a-folder``, ``not-a-log``, ``compressed-unreadable`` or
            ``zstd-unsupported``; what lies in the content is found while it is read.
    """
    if path == "-":
        return Log("-", _checked(sys.stdin.buffer, "standard input"))
    _require(path)
    return Log(path, _read(path))


def head_of(path: str, size: int) -> bytes:
    """Return how a file begins, at most ``size`` bytes, decompressed.

    Raises:
        InputError: ``file-unreadable`` or as ``open_log``.
    """
    head = b""
    try:
        with open(path, "rb") as file:
            for piece in decompressed(iter(lambda: file.read(size), b""), path):
                head += piece
                if len(head) >= size:
                    break
    except OSError as error:
        raise InputError("file-unreadable", path=path, reason=str(error.strerror)) from error
    return head[:size]


def read_bytes(path: str) -> bytes:
    """Return what a small file holds.

    Raises:
        InputError: ``file-missing``, ``file-unreadable`` or ``is-a-folder``.
    """
    _require(path)
    try:
        return _bytes(path, _MANIFEST_LIMIT)
    except OSError as error:
        raise InputError("file-unreadable", path=path, reason=str(error.strerror)) from error


def read_manifest(path: str) -> Manifest:
    """Return a manifest file; ``-`` is standard input.

    Raises:
        InputError: ``file-missing``, ``file-unreadable``, ``is-a-folder`` or ``manifest-too-large``.
    """
    if path != "-":
        _require(path)
    try:
        content = sys.stdin.buffer.read(_MANIFEST_LIMIT + 1) if path == "-" else _bytes(path, _MANIFEST_LIMIT + 1)
    except OSError as error:
        raise InputError("file-unreadable", path=path, reason=str(error.strerror)) from error
    if len(content) > _MANIFEST_LIMIT:
        raise InputError("manifest-too-large", path=path)
    return Manifest(path, _text(content))


def read_checkpoint(path: str) -> Checkpoint:
    """Read a model from its folder or its config.json; ModelOpt's hf_quant_config.json beside it is taken along.

    Raises:
        InputError: ``file-missing`` or ``config-unreadable``.
    """
    import json  # only where a config is read

    path = os.path.expanduser(path)
    folder, file = (path, os.path.join(path, "config.json")) if os.path.isdir(path) else (os.path.dirname(path), path)
    _require(file)
    try:
        config = json.loads(_text(_bytes(file, _CONFIG_LIMIT)))
        separate = os.path.join(folder, "hf_quant_config.json")
        beside = json.loads(_text(_bytes(separate, _CONFIG_LIMIT))) if os.path.exists(separate) else None
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError("config-unreadable", path=file, reason=str(reason)) from error
    if not isinstance(config, dict):
        raise InputError("config-unreadable", path=file, reason="not a JSON object")
    if isinstance(beside, dict):
        config["hf_quant_config"] = beside
    return Checkpoint(os.path.basename(os.path.abspath(folder)), config, file)


def write_atomically(path: str, text: str) -> None:
    """Write a file as a whole or not at all: a temporary file beside it takes its place, with its mode and owner.

    A link stays a link: what it points at is replaced.

    Raises:
        InputError: ``file-unwritable`` when the folder or the file does not allow it.
    """
    from contextlib import suppress  # only where something is written
    from tempfile import NamedTemporaryFile

    path = os.path.realpath(path)
    made: str | None = None
    try:
        with NamedTemporaryFile(
            "w", dir=os.path.dirname(path), delete=False, encoding="utf-8", newline="", errors="surrogateescape"
        ) as file:
            made = file.name
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(path):
            _like(path, made)
        os.replace(made, path)
    except OSError as error:
        if made is not None:
            with suppress(OSError):
                os.unlink(made)
        raise InputError("file-unwritable", path=path, reason=str(error.strerror)) from error


def _like(path: str, made: str) -> None:
    """Give a new file the mode and the owner of the one that it replaces."""
    status, own = os.stat(path), os.stat(made)
    os.chmod(made, status.st_mode & 0o7777)
    if (status.st_uid, status.st_gid) != (own.st_uid, own.st_gid):
        os.chown(made, status.st_uid, status.st_gid)


def _require(path: str) -> None:
    try:
        is_folder = stat.S_ISDIR(os.stat(path).st_mode)
    except PermissionError as error:
        raise InputError("file-unreadable", path=path, reason=str(error.strerror)) from error
    except (OSError, ValueError):  # a name with a null byte is no name
        raise InputError("file-missing", path=path) from None
    if is_folder and not os.access(path, os.R_OK | os.X_OK):
        raise InputError("file-unreadable", path=path, reason=os.strerror(errno.EACCES))
    if is_folder:
        raise InputError("is-a-folder", path=path)


def _bytes(path: str, limit: int) -> bytes:
    with open(path, "rb") as file:
        return file.read(limit)


def _text(content: bytes) -> str:
    """Decode UTF-8, or UTF-16 with a byte order mark, as PowerShell writes files."""
    if content.startswith(_UTF16):
        return content.decode("utf-16", "replace")
    return content.decode("utf-8", "replace").removeprefix("\ufeff")


def _read(path: str) -> Iterator[bytes]:
    try:
        with open(path, "rb") as file:
            yield from _checked(file, path)
    except OSError as error:
        raise InputError("file-unreadable", path=path, reason=str(error.strerror)) from error


def _checked(file: BinaryIO, name: str) -> Iterator[bytes]:
    """Yield the pieces of a log; what begins like a binary file is refused."""
    first = True
    for piece in decompressed(iter(lambda: file.read(_CHUNK), b""), name):
        if first and _looks_binary(piece[:_SAMPLE]):
            raise InputError("not-a-log", path=name)
        first = False
        yield piece


def _looks_binary(sample: bytes) -> bool:
    """Tell whether much of it is no text: bytes that are no UTF-8, and control characters that no log holds.

    NUL bytes do not count: a log that was cut while it was written begins with many of them.
    """
    if sample.startswith(_UTF16):
        return False
    written = sample.replace(b"\0", b"")
    text = written.decode("utf-8", "replace")
    strange = text.count("\ufffd") + len(written) - len(written.translate(None, _CONTROLS))
    return strange > len(text) * _BINARY_SHARE
