"""Which files are kustomizations, and what they refer to."""

import posixpath
from collections.abc import Mapping
from typing import Final

from oomedic.errors import InputError
from oomedic.workloads.config_map_generator import env_files
from oomedic.yamldoc.nodes import get, items, text_of
from oomedic.yamldoc.text import compose

FILES: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")
"""How the file of a kustomization may be called."""


def is_kustomization(path: str) -> bool:
    """Tell whether a path is a kustomization's own."""
    return posixpath.basename(path) in FILES


def references(path: str, text: str) -> tuple[str, ...]:
    """Return the paths that a kustomization refers to, files and folders alike.

    Raises:
        InputError: ``yaml-…``.
    """
    found: list[str] = []
    for document in compose(text, path).documents:
        for field in ("resources", "bases", "components", "patchesStrategicMerge"):
            found += [text_of(each) or "" for each in items(get(document, field))]
        for field in ("patches", "patchesJson6902"):
            found += [text_of(get(each, "path")) or "" for each in items(get(document, field))]
        for generator in items(get(document, "configMapGenerator")):
            files = [text_of(each) or "" for each in items(get(generator, "files"))]
            found += [each.partition("=")[2] or each for each in files]
            found += env_files(generator)
    folder = posixpath.dirname(path)
    return tuple(posixpath.normpath(posixpath.join(folder, each)) for each in found if is_path(each))


def kustomizations(files: Mapping[str, str]) -> tuple[set[str], set[str]]:
    """Return the kustomizations that no other one refers to, and all files that are part of one."""
    own = {path for path in files if is_kustomization(path)}
    parts: set[str] = set()
    for path in own:
        try:
            referred = references(path, files[path])
        except InputError:
            continue
        for each in referred:
            inner = (posixpath.join(each, name) for name in FILES)
            parts |= {name for name in (each, *inner) if name in files}
    return own - parts, parts


def is_path(text: str) -> bool:
    """Tell whether an entry of a kustomization is a path in the same tree, no address and no inline patch."""
    return bool(text) and "\n" not in text and "://" not in text and not text.startswith(("github.com", "git@"))
