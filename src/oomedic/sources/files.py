"""What lies in files: logs, manifests, a model's config; and writing that never leaves half a file."""

import os
import sys
from collections.abc import Iterator
from typing import BinaryIO

from oomedic.checkpoint import Checkpoint
from oomedic.errors import InputError
from oomedic.pipeline import Log, Manifest

_CHUNK = 4 * 1024 * 1024
_MANIFEST_LIMIT = 64 * 1024 * 1024
_BINARY_SHARE = 0.3
_SAMPLE = 64 * 1024


def open_log(path: str) -> Log:
    """Return a log, read in pieces as it is consumed; ``-`` is standard input.

    Raises:
        InputError: ``file-missing``, ``file-unreadable`` or ``not-a-log``.
    """
    if path == "-":
        return Log("-", _checked(sys.stdin.buffer, "standard input"))
    _require(path)
    return Log(path, _read(path))


def read_manifest(path: str) -> Manifest:
    """Return a manifest file; ``-`` is standard input.

    Raises:
        InputError: ``file-missing``, ``file-unreadable`` or ``manifest-too-large``.
    """
    if path == "-":
        return Manifest("-", sys.stdin.buffer.read(_MANIFEST_LIMIT).decode("utf-8", "replace"))
    _require(path)
    try:
        with open(path, "rb") as file:
            content = file.read(_MANIFEST_LIMIT + 1)
    except OSError as error:
        raise InputError("file-unreadable", path=path, reason=str(error.strerror)) from error
    if len(content) > _MANIFEST_LIMIT:
        raise InputError("manifest-too-large", path=path)
    return Manifest(path, content.decode("utf-8", "replace"))


def read_checkpoint(path: str) -> Checkpoint:
    """Read a model from its folder or its config.json; ModelOpt's hf_quant_config.json beside it is taken along.

    Raises:
        InputError: ``file-missing`` or ``config-unreadable``.
    """
    import json  # only where a config is read

    folder, file = (path, os.path.join(path, "config.json")) if os.path.isdir(path) else (os.path.dirname(path), path)
    _require(file)
    try:
        config = json.loads(_content(file))
        separate = os.path.join(folder, "hf_quant_config.json")
        if os.path.exists(separate):
            config["hf_quant_config"] = json.loads(_content(separate))
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise InputError("config-unreadable", path=file, reason=str(error)) from error
    if not isinstance(config, dict):
        raise InputError("config-unreadable", path=file, reason="not a JSON object")
    return Checkpoint(os.path.basename(os.path.abspath(folder)), config, file)


def write_atomically(path: str, text: str) -> None:
    """Write a file as a whole or not at all: a temporary file beside it takes its place, with its mode and owner.

    Raises:
        InputError: ``file-unreadable`` when the folder or the file does not allow it.
    """
    from tempfile import NamedTemporaryFile  # only where something is written

    folder = os.path.dirname(path) or "."
    try:
        with NamedTemporaryFile("w", dir=folder, delete=False, encoding="utf-8", newline="") as file:
            file.write(text)
        if os.path.exists(path):
            status = os.stat(path)
            os.chmod(file.name, status.st_mode)
            os.chown(file.name, status.st_uid, status.st_gid)
        os.replace(file.name, path)
    except OSError as error:
        raise InputError("file-unreadable", path=path, reason=str(error.strerror)) from error


def _require(path: str) -> None:
    if not os.path.exists(path):
        raise InputError("file-missing", path=path)
    if os.path.isdir(path):
        raise InputError("file-unreadable", path=path, reason="it is a folder")


def _content(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def _read(path: str) -> Iterator[bytes]:
    try:
        with open(path, "rb") as file:
            yield from _checked(file, path)
    except OSError as error:
        raise InputError("file-unreadable", path=path, reason=str(error.strerror)) from error


def _checked(file: BinaryIO, name: str) -> Iterator[bytes]:
    """Yield the pieces of a log; what begins like a binary file is refused."""
    first = True
    while piece := file.read(_CHUNK):
        if first and _looks_binary(piece[:_SAMPLE]):
            raise InputError("not-a-log", path=name)
        first = False
        yield piece


def _looks_binary(sample: bytes) -> bool:
    """Tell whether many bytes are no text: control characters other than tab, line ends, escape and backspace."""
    if sample.startswith((b"\xff\xfe", b"\xfe\xff")):
        return False
    text = set(b"\t\n\r\x1b\x08\x0c") | set(range(0x20, 0x100))
    strange = sum(byte not in text for byte in sample)
    return strange > len(sample) * _BINARY_SHARE
