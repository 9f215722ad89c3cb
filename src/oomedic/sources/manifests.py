"""Manifests as people name them: files, folders, standard input, and kustomizations with all that they refer to."""

import os
from collections.abc import Iterable

from oomedic.errors import InputError
from oomedic.question import Manifest
from oomedic.sources.files import in_folders, is_manifest, once, read_manifest
from oomedic.workloads.kustomization import FILES, is_kustomization, references


def read_all(paths: Iterable[str]) -> tuple[Manifest, ...]:
    """Read every manifest that some paths name; what a kustomization refers to is read with it.

    Raises:
        InputError: as ``read_manifest``, for a path that is named, or ``folder-empty``.
        UsageError: ``stdin-twice``.
    """
    found, errors = read_each(paths)
    if errors:
        raise errors[0]
    return found


def read_each(paths: Iterable[str]) -> tuple[tuple[Manifest, ...], tuple[InputError, ...]]:
    """Read what ``read_all`` reads; what cannot be read is told, and stops nothing else.

    Raises:
        UsageError: ``stdin-twice``.
    """
    named = list(paths)
    once(named)
    found: dict[str, Manifest] = {}
    errors: list[InputError] = []
    waiting: list[str] = []
    for path in named:
        try:
            waiting += [
                each
                for each in in_folders([path])
                if each == path or is_manifest(each) or is_kustomization(each) or os.path.isdir(each)
            ]
        except InputError as error:
            errors.append(error)
    while waiting:
        path = waiting.pop(0)
        if path in found:
            continue
        try:
            found[path] = read_manifest(path)
        except InputError as error:
            errors.append(error)
            continue
        waiting += _referred(path, found[path].text) if is_kustomization(path) else []
    return tuple(found.values()), tuple(errors)


def _referred(path: str, text: str) -> list[str]:
    """Return the files that a kustomization refers to, as far as they are there."""
    try:
        names = references(path, text)
    except InputError:
        return []  # the reader tells of it
    found = []
    for name in names:
        if os.path.isdir(name):
            found += [inner for inner in (os.path.join(name, each) for each in FILES) if os.path.isfile(inner)][:1]
        elif os.path.isfile(name):
            found.append(name)
    return found
