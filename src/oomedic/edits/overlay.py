"""The same workload in texts that were edited since, and changes of what a kustomization makes of a base."""

from collections.abc import Callable, Mapping
from typing import Final

from oomedic.arguments.table import ArgumentTable
from oomedic.edits.kustomize import RENDERED, patched, rendered_text
from oomedic.manifest import read_manifests
from oomedic.workloads.reading import Reading
from oomedic.workloads.workload import Workload
from oomedic.yamldoc.splice import refused

Files = Mapping[str, str]
"""Texts by their paths."""

_NO_ARGUMENTS: Final = ArgumentTable.of(())


def file_of(workload: Workload) -> str:
    """Return the path of the file that a workload was read from."""
    return next((path.file for path in workload.edit_paths.values()), workload.unit)


def find_reading(files: Files, workload: Workload, table: ArgumentTable | None) -> Reading:
    """Find a workload in texts that may have been edited since.

    Raises:
        InputError: ``edit-refused``.
    """
    same = [each for each in read_manifests(files, table or _NO_ARGUMENTS) if _is_alike(each.workload, workload)]
    if not same:
        raise refused("not-found")
    return next((reading for reading in same if reading.workload.file == workload.file), same[0])


def _is_alike(found: Workload, wanted: Workload) -> bool:
    return (found.unit, found.place, found.kind) == (wanted.unit, wanted.place, wanted.kind)


def in_overlay(
    files: Files, reading: Reading, change: Callable[[Files, Workload], dict[str, str]], table: ArgumentTable | None
) -> dict[str, str]:
    """Make a change in the object as kustomize makes it, and write what that comes to as a patch of the overlay.

    Raises:
        InputError: ``edit-refused``.
    """
    before = rendered_text(reading)
    wanted = reading.workload
    found = next(
        each.workload
        for each in read_manifests({RENDERED: before}, table or _NO_ARGUMENTS)
        if each.workload.container == wanted.container
    )
    after = change({RENDERED: before}, found)[RENDERED]
    texts = patched(reading, files, before, after)
    now = find_reading(texts, wanted, table)
    again = next(
        each
        for each in read_manifests({RENDERED: after}, table or _NO_ARGUMENTS)
        if each.workload.container == wanted.container
    )
    if [word.text for word in now.command.words] != [word.text for word in again.command.words]:
        raise refused("proof")
    return texts
