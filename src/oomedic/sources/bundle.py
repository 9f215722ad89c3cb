"""Evidence as it is collected: files, folders and archives, each told by what it holds, however it is named."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from oomedic.errors import InputError
from oomedic.observed.reading import Beside
from oomedic.observed.recognition import FileKind, kind_of_file
from oomedic.question import Log, Manifest
from oomedic.sources.compression import decompressed
from oomedic.sources.files import head_of, in_folders, open_log

if TYPE_CHECKING:
    from tarfile import TarFile

_HEAD: Final = 64 * 1024
_LARGEST: Final = 64 * 1024 * 1024
_WHOLE: Final = 1024 * 1024 * 1024
_TAR_AT: Final = 257
_PREVIOUS: Final = ("prev", "last-life", ".log.")
_NAMED_KINDS: Final[dict[str, FileKind]] = {
    "--pod": "objects",
    "--describe": "describe",
    "--events": "events",
    "--nvidia-smi": "nvidia-smi",
}


class Bundle(NamedTuple):
    """What was given: logs, those of earlier lives first; manifests; and files that are neither."""

    logs: tuple[Log, ...] = ()
    manifests: tuple[Manifest, ...] = ()
    beside: tuple[Beside, ...] = ()


class _File(NamedTuple):
    """One file: how it begins, and all of it in pieces."""

    path: str
    head: bytes
    pieces: Iterable[bytes]


def collect(paths: Iterable[str]) -> Bundle:
    """Tell what each of some files, folders and archives is; ``-`` is standard input.

    Raises:
        InputError: ``file-missing``, ``file-unreadable``, ``folder-empty``, ``bundle-too-large`` or as ``open_log``.
    """
    logs: list[Log] = []
    manifests: list[Manifest] = []
    beside: list[Beside] = []
    for file in _files(in_folders(paths)):
        kind = kind_of_file(file.path, file.head.decode("utf-8", "replace"))
        if kind == "log":
            logs.append(Log(file.path, file.pieces))
        elif kind == "manifest":
            manifests.append(Manifest(file.path, _text(file)))
        else:
            beside.append(Beside(file.path, _text(file), kind))
    return Bundle(tuple(sorted(logs, key=_is_later)), tuple(manifests), tuple(beside))


def read_named(option: str, path: str) -> Beside:
    """Read a file of which the user says what it is; where its content says better, that counts.

    Raises:
        InputError: as ``collect``.
    """
    file = next(_files([path]))
    kind = kind_of_file(path, file.head.decode("utf-8", "replace"))
    return Beside(path, _text(file), _NAMED_KINDS[option] if kind in {"log", "manifest"} else kind)


def _is_later(log: Log) -> bool:
    """Put the logs of earlier lives first: their names say so."""
    name = log.name.lower().rpartition("/")[2]
    return not any(word in name for word in _PREVIOUS)


def _files(paths: Iterable[str]) -> Iterator[_File]:
    for path in paths:
        if path == "-":
            pieces = iter(open_log("-").chunks)
            head = next(pieces, b"")
            yield _File("-", head[:_HEAD], chain((head,), pieces))
            continue
        log = open_log(path)  # it opens the file anew, when it is read
        head = head_of(path, _HEAD)
        if head[_TAR_AT : _TAR_AT + 5] == b"ustar":
            yield from _members(path)
        else:
            yield _File(path, head, log.chunks)


def _members(path: str) -> Iterator[_File]:
    """Yield the files in an archive, plain or compressed by gzip; nothing is written anywhere."""
    import tarfile  # only where an archive is given

    try:
        with tarfile.open(path, "r:*") as archive:
            yield from _contents(archive, path)
    except (tarfile.TarError, OSError, EOFError) as error:
        raise InputError("compressed-unreadable", path=path, reason=str(error)) from error


def _contents(archive: "TarFile", path: str) -> Iterator[_File]:
    size = 0
    for member in archive:
        opened = archive.extractfile(member) if member.isfile() else None
        if opened is None or member.name.rpartition("/")[2].startswith("."):
            continue
        size += member.size
        if size > _WHOLE:
            raise InputError("bundle-too-large", path=path, limit=_WHOLE)
        name = f"{path}/{member.name}"
        content = b"".join(decompressed([opened.read()], name))
        yield _File(name, content[:_HEAD], (content,))


def _text(file: _File) -> str:
    content = b""
    for piece in file.pieces:
        content += piece
        if len(content) > _LARGEST:
            raise InputError("manifest-too-large", path=file.path)
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", "replace")
    return content.decode("utf-8", "replace").removeprefix("\ufeff")
