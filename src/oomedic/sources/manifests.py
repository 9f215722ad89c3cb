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
    named = list(paths)
    once(named)
    wanted = [path for path in in_folders(named) if path in named or is_manifest(path) or is_kustomization(path)]
    found = {path: read_manifest(path) for path in wanted}
    waiting = [path for path in found if is_kustomization(path)]
    while waiting:
        path = waiting.pop()
        for inner in _referred(path, found[path].text):
            if inner not in found:
                found[inner] = read_manifest(inner)
                waiting += [inner] if is_kustomization(inner) else []
    return tuple(found.values())


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
