"""The facts that come with oomedic, and those that a user keeps in a directory (``--data DIR``)."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from oomedic.catalogue import Catalogue
from oomedic.errors import InputError, OomedicError
from oomedic.gpu import gpu_of
from oomedic.instance import labels_of
from oomedic.models.table import model_of
from oomedic.sources.languages import ENGLISH, reader

if TYPE_CHECKING:
    from pathlib import Path

Row = dict[str, Any]


def load(language: str = ENGLISH) -> Catalogue:
    """Return the catalogue of the compiled index in a language; its files are read when they are needed."""
    return Catalogue(reader(language))


def extra_data(directory: "Path") -> dict[str, list[Row]]:
    """Read a user's ``gpus.toml``, ``instances.toml``, ``models/*.toml`` and ``signatures/*.toml``.

    They have the format of oomedic's own: ``gpus.toml`` holds ``[[gpu]]`` and ``[[mig]]`` tables, ``instances.toml``
    ``[[instance]]`` tables, a file of ``models`` ``[[model]]`` tables, a file of ``signatures`` one signature whose
    name is the file's. A row of a key that is known changes what it names, a price for instance.

    Raises:
        InputError: ``data-directory-missing``, ``data-unreadable`` or ``data-row-incomplete``, with the ``path``.
    """
    from oomedic.logs.signature import signature_of  # only a user's own signatures are checked here

    if not directory.is_dir():
        raise InputError("data-directory-missing", path=str(directory))
    extra: dict[str, list[Row]] = {"gpu": [], "mig": [], "model": [], "signature": [], "instance": []}
    for path, tables in _files(directory, "gpus.toml"):
        extra["gpu"] += _rows(path, tables, "gpu", gpu_of)
        extra["mig"] += _rows(path, tables, "mig", _check_slice)
    for path, tables in _files(directory, "instances.toml"):
        extra["instance"] += _rows(path, tables, "instance", _check_instance)
    for path, tables in _files(directory, "models/*.toml"):
        extra["model"] += _rows(path, tables, "model", _check_model)
    for path, tables in _files(directory, "signatures/*.toml"):
        table = {key: item for key, item in tables.items() if key not in {"sample", "reject"}}
        extra["signature"] += _rows(path, {"signature": [{"name": path.stem, **table}]}, "signature", signature_of)
    return extra


def _files(directory: "Path", pattern: str) -> Iterator[tuple["Path", Row]]:
    import tomllib  # only a user's own data is TOML at run time

    for path in sorted(directory.glob(pattern)):
        try:
            yield path, tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise InputError("data-unreadable", path=str(path), reason=str(error)) from error


def _rows(path: "Path", tables: Mapping[str, Any], kind: str, check: Callable[[Row], object]) -> list[Row]:
    """Return the tables of one kind, each of which can be read."""
    rows = tables.get(kind, [])
    if not isinstance(rows, list):
        raise InputError("data-row-incomplete", path=str(path), kind=kind, number=1, reason=f"[[{kind}]]")
    for number, row in enumerate(rows, 1):
        try:
            check(row)
        except (KeyError, TypeError, ValueError, AttributeError, OomedicError) as error:
            raise InputError(
                "data-row-incomplete", path=str(path), kind=kind, number=number, reason=str(error)
            ) from error
    return list(rows)


def _check_slice(row: Row) -> None:
    gpu_of({"name": row["profile"], **row})
    tuple(row["parents"])


def _check_instance(row: Row) -> None:
    labels_of(row)
    if not all(isinstance(price, int | float) for price in row.get("price", {}).values()):
        raise TypeError("price")


def _check_model(row: Row) -> None:
    if isinstance(row["config"], str):
        row["config"] = json.loads(row["config"])
    model_of(row)
