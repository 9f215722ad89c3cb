"""Change one engine argument, or the number of devices, in the texts of manifests.

A change is made of splices and then proved: the text is read again, and nothing but the intended leaves, words and
arguments may differ. Everything else stays byte for byte. What cannot be changed alone is refused.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Final

from oomedic.arguments.given import Given, Value, without_secrets
from oomedic.arguments.table import ArgumentTable
from oomedic.arguments.values import read_value
from oomedic.arguments.words import Occurrence, find_occurrence
from oomedic.edits.change import Change, Made, made
from oomedic.edits.home import added, flag_words
from oomedic.edits.kustomize import RENDERED, is_own, patched, rendered_text
from oomedic.edits.words import Line, append_words, remove_words, replace_word, set_switch, set_value, written_value
from oomedic.errors import InputError
from oomedic.manifest import read_manifests
from oomedic.workloads.kustomization import is_kustomization
from oomedic.workloads.reading import Count, Reading
from oomedic.workloads.workload import Workload
from oomedic.yamldoc.nodes import Node
from oomedic.yamldoc.splice import inside, refused

_MOST_OCCURRENCES: Final = 100
_NO_ARGUMENTS: Final = ArgumentTable.of(())
_NEEDED: Final = frozenset(("model", "config"))

Files = Mapping[str, str]
Way = Callable[[], tuple[Change, ...]]


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
    return edit_files({_path(workload): text}, workload, argument, value, table)[_path(workload)]


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
            reading = _find(files, workload, table)
            if error.slug != "edit-refused" or not is_kustomization(reading.source.file.path):
                raise
        return _in_overlay(files, reading, lambda texts, found: edit_files(texts, found, argument, value, table), table)
    except InputError as error:
        if error.slug == "edit-refused":
            error.parameters |= {"unit": workload.unit, "argument": argument}
        raise


def _edited(
    files: Files, workload: Workload, argument: str, value: Value, table: ArgumentTable | None
) -> dict[str, str]:
    if value is None:
        return _remove(files, workload, argument, table)
    reading = _find(files, workload, table)
    return _made(files, reading, _changes(reading, workload, argument, value), (argument, value), table)


def _in_overlay(
    files: Files, reading: Reading, change: Callable[[Files, Workload], dict[str, str]], table: ArgumentTable | None
) -> dict[str, str]:
    """Make a change in the object as kustomize makes it, and write what that comes to as a patch of the overlay."""
    before = rendered_text(reading)
    wanted = reading.workload
    found = next(
        each.workload
        for each in read_manifests({RENDERED: before}, table or _NO_ARGUMENTS)
        if each.workload.container == wanted.container
    )
    after = change({RENDERED: before}, found)[RENDERED]
    texts = patched(reading, files, before, after)
    now = _find(texts, wanted, table)
    again = next(
        each
        for each in read_manifests({RENDERED: after}, table or _NO_ARGUMENTS)
        if each.workload.container == wanted.container
    )
    if [word.text for word in now.command.words] != [word.text for word in again.command.words]:
        raise refused("proof")
    return texts


def edit_resource(text: str, workload: Workload, resource: str, number: int, table: ArgumentTable | None = None) -> str:
    """Set how many devices of a resource a container asks for, in requests and limits alike.

    Raises:
        InputError: ``edit-refused``.
    """
    try:
        return edit_devices({_path(workload): text}, workload, number, table)[_path(workload)]
    except InputError as error:
        if error.slug == "edit-refused":
            error.parameters |= {"unit": workload.unit, "argument": resource}
        raise


def edit_devices(files: Files, workload: Workload, number: int, table: ArgumentTable | None = None) -> dict[str, str]:
    """Set how many devices each pod of a workload has, wherever that is written; return all files.

    Raises:
        InputError: ``edit-refused``.
    """
    reading = _find(files, workload, table)
    resource = workload.gpu_resource or "devices"
    overlay = is_kustomization(reading.source.file.path)
    try:
        if not reading.counts:
            raise refused("missing")
        if overlay and not all(_is_own(reading, count.leaf) for count in reading.counts):
            return _in_overlay(files, reading, lambda each, found: edit_devices(each, found, number, table), table)
        texts = dict(files)
        for index in range(len(_leaves(reading))):
            current = _find(texts, workload, table)
            texts = _counted(texts, current, _leaves(current)[index], number)
        if _find(texts, workload, table).workload.gpus_per_pod != number:
            raise refused("proof")
    except InputError as error:
        error.parameters |= {"unit": workload.unit, "argument": resource}
        raise
    return texts


def _path(workload: Workload) -> str:
    return next((path.file for path in workload.edit_paths.values()), workload.unit)


def _find(files: Files, workload: Workload, table: ArgumentTable | None) -> Reading:
    """Find a workload in texts that may have been edited since."""
    for reading in read_manifests(files, table or _NO_ARGUMENTS):
        found = reading.workload
        if (found.unit, found.place, found.kind) == (workload.unit, workload.place, workload.kind):
            return reading
    raise refused("not-found")


def _is_own(reading: Reading, leaf: Node) -> bool:
    spot = reading.source.spot(leaf)
    return spot is not None and is_own(reading, spot.found.file.path)


def _leaves(reading: Reading) -> list[tuple[Count, int]]:
    """Return each leaf with a number of devices once, and how often it is meant."""
    found: dict[int, tuple[Count, int]] = {}
    for count in reading.counts:
        found[id(count.leaf)] = (count, found.get(id(count.leaf), (count, 0))[1] + 1)
    return list(found.values())


def _counted(files: dict[str, str], reading: Reading, meant: tuple[Count, int], number: int) -> dict[str, str]:
    count, times = meant
    leaf = count.leaf
    spot = reading.source.spot(leaf)
    if spot is None or leaf.event < 0:
        raise refused("written-elsewhere")
    value = f"{count.before}{number}{count.after}"
    start, end = len(count.before), len(leaf.value) - len(count.after)
    if leaf.value == value:
        return files
    splice = inside(spot.layer.file.text, leaf, start, end, str(number))
    result = made(Change(spot, leaf, (splice,), None, {leaf.event: value}, times=times))
    return {**files, result.path: result.text}


def _changes(reading: Reading, workload: Workload, argument: str, value: Value) -> list[Way]:
    """Return the ways to set an argument, best first; none where it is as wanted."""
    line = Line(reading.command, reading.source)
    occurrence = _occurrence(line, workload, argument)
    if occurrence is not None:
        found = occurrence
        again = _addition(line, reading, argument, value)  # where nobody wrote what is there, as a controller's default
        if not isinstance(value, bool):
            return [lambda: set_value(line, found, written_value(value)), again]
        changes = _flag_changes(line, occurrence, argument, value=value)
        return [*changes, again] if changes else []
    return [_addition(line, reading, argument, value)]


def _addition(line: Line, reading: Reading, argument: str, value: Value) -> Way:
    """Return the way to write an argument down anew, behind all others: the last one wins."""
    joined, home = not _in_pairs(line), reading.home
    if home is None or _behind_program(line, reading):
        return lambda: (append_words(line, flag_words(argument, value, joined=joined)),)
    return lambda: added(line, home, argument, value, joined=joined)


def _behind_program(line: Line, reading: Reading) -> bool:
    """Tell whether an addition goes behind the last word of a shell program: only its reader knows where that is."""
    return (
        reading.home is not None
        and reading.home.way == "text"
        and (line.command.places.get(line.command.program or "") is reading.home.node)
    )


def _occurrence(line: Line, workload: Workload, argument: str) -> Occurrence | None:
    """Find the words of an argument: as the workload knows them, or as an edit before this one wrote them."""
    known = workload.arguments.given.get(argument)
    shadowed = [given for name, given in workload.arguments.shadowed if name == argument]
    flag = "--" + argument.replace("_", "-")
    plain = [Given("", "", flag), Given(value=True, where="", spelling=f"--no-{flag[2:]}")]
    for given in ([known] if known else []) + (plain if known is None or known.spelling else []) + shadowed[::-1]:
        occurrence = find_occurrence(line.command.arguments, given)
        if occurrence:
            return occurrence
    return None


def _flag_changes(line: Line, occurrence: Occurrence, argument: str, *, value: bool) -> list[Way]:
    """Switch a flag; nothing if it already is as wanted."""
    new = flag_words(argument, value, joined=False)[0]
    if occurrence.flag is None:
        return [lambda: (append_words(line, [new]),)]
    if occurrence.glued or occurrence.values:
        return [lambda: set_value(line, occurrence, str(value).lower())]
    index = line.first + occurrence.flag
    is_negated = line.words[index].text.startswith(("--no-", "--no_"))
    if value is not is_negated:
        return []
    switched = set_switch(line, index, new, on=value)
    return [lambda: (switched,)] if switched is not None else [lambda: (replace_word(line, index, new),)]


def _in_pairs(line: Line) -> bool:
    """Tell whether the arguments are written as ``--flag value`` rather than ``--flag=value``."""
    texts = [word.text for word in line.command.arguments]
    joined = sum(text.startswith("--") and "=" in text for text in texts)
    apart = sum(
        text.startswith("--") and "=" not in text and not following.startswith("-")
        for text, following in pairwise(texts)
    )
    return apart > joined


def _remove(files: Files, workload: Workload, argument: str, table: ArgumentTable | None) -> dict[str, str]:
    """Remove every occurrence: what a later one shadowed would count again."""
    if argument in _NEEDED:
        raise refused("needed")
    texts = dict(files)
    for _ in range(_MOST_OCCURRENCES):
        reading = _find(texts, workload, table)
        line = Line(reading.command, reading.source)
        occurrence = _occurrence(line, workload, argument)
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
        after = _find(files, before.workload, table)
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
