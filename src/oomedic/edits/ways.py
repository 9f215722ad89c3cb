"""The ways in which one argument of a command line can be changed."""

from collections.abc import Callable
from itertools import pairwise

from oomedic.arguments.given import Given, Value
from oomedic.arguments.words import Occurrence, find_occurrence
from oomedic.edits.change import Change
from oomedic.edits.home import added, flag_words
from oomedic.edits.words import Line, append_words, replace_word, set_switch, set_value, written_value
from oomedic.workloads.reading import Reading
from oomedic.workloads.workload import Workload

Way = Callable[[], tuple[Change, ...]]
"""Returns the changes that would do it, of which one is made."""


def ways_to_set(reading: Reading, workload: Workload, argument: str, value: Value) -> list[Way]:
    """Return the ways to set an argument, best first; none where it is as wanted."""
    line = Line(reading.command, reading.source)
    occurrence = find_argument(line, workload, argument)
    if occurrence is not None:
        found = occurrence
        again = _addition(line, reading, argument, value)  # where nobody wrote what is there, as a controller's default
        if not isinstance(value, bool):
            return [lambda: set_value(line, found, written_value(value)), again]
        changes = _flag_changes(line, occurrence, argument, value=value)
        return [*changes, again] if changes else []
    return [_addition(line, reading, argument, value)]


def find_argument(line: Line, workload: Workload, argument: str) -> Occurrence | None:
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
