"""What a word on the command line means: an object on a cluster, or a file."""

import os
from typing import TYPE_CHECKING

from oomedic.errors import UsageError

if TYPE_CHECKING:
    from argparse import Namespace

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def asks_cluster(options: "Namespace") -> bool:
    """Tell whether a command is about a cluster: a target on it, or a search in its namespaces.

    Raises:
        UsageError: ``targets-mixed`` for objects and files in one call.
    """
    named = [is_object(word, options) for word in options.target]
    if any(named) and not all(named):
        raise UsageError("targets-mixed", files=tuple(word for word in options.target if not is_object(word, options)))
    files = bool(options.logs or options.manifest or options.engine or options.model)
    return any(named) or (not options.target and not files and (options.all_namespaces or bool(options.namespace)))


def is_object(word: str, options: "Namespace") -> bool:
    """Tell an object from a file: KIND/NAME that is no path here, or a pod's name where a namespace is given."""
    if word == "-" or os.path.exists(word):
        return False
    kind, slash, name = word.partition("/")
    if slash:
        return kind.replace(".", "").isalnum() and bool(name) and "/" not in name and not _is_file_name(name)
    return bool(options.namespace) and not _is_file_name(word)


def kind_and_name(word: str) -> tuple[str, str]:
    """Return the kind that is named, a pod where none is, and the name."""
    kind, slash, name = word.partition("/")
    return (kind, name) if slash else ("pod", kind)


def seconds(text: str | None, option: str = "--since") -> int | None:
    """Read a time such as 30m that an option was given.

    Raises:
        UsageError: ``time-unreadable``.
    """
    if not text:
        return None
    number, unit = text[:-1], text[-1]
    if not number.isdigit() or unit not in _UNITS:
        raise UsageError("time-unreadable", option=option, text=text)
    return int(number) * _UNITS[unit]


def _is_file_name(name: str) -> bool:
    return name.endswith((".log", ".txt", ".yaml", ".yml", ".json", ".gz"))
