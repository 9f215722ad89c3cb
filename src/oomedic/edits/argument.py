"""Change one engine argument in the texts of manifests.

A change is made of splices and then proved: the text is read again, and nothing but the intended leaves, words and
arguments may differ. Everything else stays byte for byte. What cannot be changed alone is refused.
"""

from collections.abc import Iterator
from typing import Final

from oomedic.arguments.given import Value, without_secrets
from oomedic.arguments.table import ArgumentTable
from oomedic.arguments.values import read_value
from oomedic.edits.change import Change, Made, made
from oomedic.edits.kustomize import is_own
from oomedic.edits.overlay import Files, file_of, find_reading, in_overlay
from oomedic.edits.ways import Way, find_argument, ways_to_set
from oomedic.edits.words import Line, remove_words, written_value
from oomedic.errors import InputError
from oomedic.workloads.kustomization import is_kustomization
from oomedic.workloads.reading import Reading
from oomedic.workloads.workload import Workload
from oomedic.yamldoc.splice import refused

_MOST_OCCURRENCES: Final = 100
_NEEDED: Final = frozenset(("model", "config"))


def edit(text: str, workload: Workload, argument: str, value: Value, table: ArgumentTable | None = None) -> str:
    """Set, add or remove one engine argument of a workload that one file holds.

    Args:
        text: the manifest that the workload was read from, or an edited version of it.
        workload: as ``read_workloads`` returned it.
        argument: vLLM's name of the argument.
        value: True and False set a flag; None removes the argument; anything else is written behind the flag.
        table: vLLM's arguments; without it the words of the command line are proved, not what they mean.

    Raises:
        InputError: ``edit-refused``: it cannot be changed without changing something else too.
    """
    return edit_files({file_of(workload): text}, workload, argument, value, table)[file_of(workload)]


def edit_files(
    files: Files, workload: Workload, argument: str, value: Value, table: ArgumentTable | None = None
) -> dict[str, str]:
    """Set, add or remove one engine argument of a workload that several files make up; return all of them.

    What a base of kustomize says is changed in the overlay that was read.

    Raises:
        InputError: as ``edit``.
    """
    try:
        try:
            return _edited(files, workload, argument, value, table)
        except InputError as error:
            reading = find_reading(files, workload, table)
            if error.slug != "edit-refused" or not is_kustomization(reading.source.file.path):
                raise
        return in_overlay(files, reading, lambda texts, found: edit_files(texts, found, argument, value, table), table)
    except InputError as error:
        if error.slug == "edit-refused":
            error.parameters |= {"unit": workload.unit, "argument": argument}
        raise


def _edited(
    files: Files, workload: Workload, argument: str, value: Value, table: ArgumentTable | None
) -> dict[str, str]:
    if value is None:
        return _remove(files, workload, argument, table)
    reading = find_reading(files, workload, table)
    return _made(files, reading, ways_to_set(reading, workload, argument, value), (argument, value), table)


def _remove(files: Files, workload: Workload, argument: str, table: ArgumentTable | None) -> dict[str, str]:
    """Remove every occurrence: what a later one shadowed would count again."""
    if argument in _NEEDED:
        raise refused("needed")
    texts = dict(files)
    for _ in range(_MOST_OCCURRENCES):
        reading = find_reading(texts, workload, table)
        line = Line(reading.command, reading.source)
        occurrence = find_argument(line, workload, argument)
        if occurrence is None:
            return texts
        found = occurrence
        texts = _made(texts, reading, [lambda: remove_words(line, found)], None, table)  # noqa: B023 - called at once
    raise refused("too-many")


def _made(
    files: Files,
    reading: Reading,
    ways: list[Way],
    wanted: tuple[str, Value] | None,
    table: ArgumentTable | None,
) -> dict[str, str]:
    """Make the first change that can be proved; with no change to make, the texts are as wanted."""
    if not ways:
        return dict(files)
    reason: InputError | None = None
    for change, result in _attempts(ways, reading if is_kustomization(reading.source.file.path) else None):
        if isinstance(result, InputError):
            reason = reason or result
            continue
        texts = {**files, result.path: result.text}
        if change is not None and _says(texts, reading, change, wanted, table):
            return texts
    raise reason or refused("proof")


def _attempts(ways: list[Way], overlay: Reading | None) -> Iterator[tuple[Change | None, Made | InputError]]:
    for way in ways:
        try:
            changes = way()
        except InputError as error:
            yield None, error
            continue
        for change in changes:
            try:
                if overlay is not None and not is_own(overlay, change.spot.found.file.path):
                    raise refused("base-shared")
                yield change, made(change)
            except InputError as error:
                yield change, error


def _says(
    files: Files, before: Reading, change: Change, wanted: tuple[str, Value] | None, table: ArgumentTable | None
) -> bool:
    """Tell whether the engine has the words and the arguments that were meant, and all else as it was."""
    try:
        after = find_reading(files, before.workload, table)
    except InputError:
        return False
    if change.words is not None and tuple(word.text for word in after.command.words) != change.words:
        return False
    values = [{name: given.value for name, given in each.workload.arguments.given.items()} for each in (before, after)]
    if wanted is None or table is None:
        return True
    name, value = wanted
    new = values[1].get(name)
    for each in values:
        for touched in (name, *(before.home.touched if before.home else ())):
            each.pop(touched, None)
    return values[0] == values[1] and new == _read_back(name, value, table)


def _read_back(name: str, value: Value, table: ArgumentTable) -> Value:
    """Return what the engine makes of a value when it is written down."""
    match = table.exact(f"--{name.replace('_', '-')}")
    if match is None or isinstance(value, bool):
        return value
    return without_secrets("", read_value(match.argument, [written_value(value)]))
