"""Values of an argument that are tried in turn."""

from collections.abc import Sequence
from typing import Final

from oomedic.arguments.reader import Given, read_argv, words_of
from oomedic.arguments.table import Argument, ArgumentTable
from oomedic.errors import UnknownName, UsageError

Sweep = Sequence[tuple[str, Sequence[Given]]]
"""Arguments by vLLM's names, each with the values that it takes in turn."""

_MOST: Final = 200
_SWITCHED: Final = {"true": True, "false": False}


def read_sweep(text: str, table: ArgumentTable) -> tuple[str, tuple[Given, ...]]:
    """Read ``max_model_len=4k,8k,16k``: each value as the engine's command line reads it.

    Raises:
        UsageError: ``sweep-unreadable`` or ``sweep-too-long``.
        UnknownName: ``argument-unknown``.
    """
    name, separator, values = text.partition("=")
    flag = f"--{name.strip().lstrip('-').replace('_', '-')}"
    parts = [value.strip() for value in values.split(",") if value.strip()]
    if not name.strip() or not separator or not parts:
        raise UsageError("sweep-unreadable", text=text)
    if len(parts) > _MOST:
        raise UsageError("sweep-too-long", text=name, number=len(parts), limit=_MOST)
    match = table.find(flag)
    if match is None:
        raise UnknownName("argument-unknown", name=name, nearest=_nearest(flag, table))
    read = [read_argv(words_of(_written(flag, match.argument, part)), table, "--sweep") for part in parts]
    unread = [part for part, given in zip(parts, read, strict=True) if given.problems or not given.given]
    if unread:
        raise UsageError("sweep-unreadable", text=f"{name}={unread[0]}")
    found = [next(iter(given.given.items())) for given in read]
    return found[0][0], tuple(given for _, given in found)


def _written(flag: str, argument: Argument, value: str) -> str:
    """Return how a value is written on the engine's command line, where a switch takes none."""
    if argument.kind != "flag" or value.lower() not in _SWITCHED:
        return f"{flag}={value}"
    return flag if _SWITCHED[value.lower()] else f"--no-{flag.removeprefix('--')}"


def _nearest(flag: str, table: ArgumentTable) -> tuple[str, ...]:
    from difflib import get_close_matches  # only a name that is wrong needs it

    return tuple(get_close_matches(flag, table.flags(), n=3, cutoff=0.5))
