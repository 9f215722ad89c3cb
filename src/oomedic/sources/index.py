"""The files of the compiled index. Nothing heavy is imported here: `oomedic explain` needs no more than this."""

import os

from oomedic.errors import InputError

_INDEX = os.path.join(os.path.dirname(os.path.dirname(__file__)), "data", "index")


def index_names() -> list[str]:
    """Return the names of the files of the index; none where there is no index."""
    try:
        return os.listdir(_INDEX)
    except OSError:
        return []


def read_part(name: str) -> bytes:
    """Read one file of the index.

    Raises:
        InputError: ``index-missing``: oomedic is not installed completely.
    """
    path = os.path.join(_INDEX, name)
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise InputError("index-missing", path=path, reason=str(error.strerror)) from error
