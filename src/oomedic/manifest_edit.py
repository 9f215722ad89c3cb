"""Change one engine argument, or the number of devices, in the text of a manifest.

A change is made of splices and then proved: the text is read again, and nothing but the intended leaves and words may
differ. Everything else stays byte for byte. What cannot be changed alone is refused.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from oomedic.argument_words import Occurrence, find_occurrence
from oomedic.command import read_command
from oomedic.errors import InputError
from oomedic.given import Given, Value
from oomedic.kube_object import KubeObject, objects_of
from oomedic.word_edits import Change, Line, append_words, remove_words, replace_word, set_value, written_value
from oomedic.workload import EditPath, Workload
from oomedic.yamlnodes import Node, ScalarNode, SequenceNode, fields, get, uses
from oomedic.yamlsplice import Splice, apply_splices, inside, refused, requoted
from oomedic.yamltext import YamlFile, compose

_MOST_OCCURRENCES: Final = 100
_NEEDED: Final = frozenset(("model", "config"))
_IN_CONFIG_MAP: Final = "ConfigMap/"


class _Target(NamedTuple):
    """The container of a workload in a text."""

    file: YamlFile
    found: KubeObject
    container: Node
    pointer: str
    line: Line

    @property
    def root(self) -> Node:
        """The root of its document."""
        return self.file.documents[self.found.document]


def edit(text: str, workload: Workload, argument: str, value: Value) -> str:
    """Set, add or remove one engine argument.

    Args:
        text: the manifest that the workload was read from, or an edited version of it.
        workload: as ``read_workloads`` returned it.
        argument: vLLM's name of the argument.
        value: True and False set a flag; None removes the argument; anything else is written behind the flag.

    Raises:
        InputError: ``edit-refused``: it cannot be changed without changing something else too.
    """
    path = workload.edit_paths.get(argument)
    try:
        if path is not None and path.object.startswith(_IN_CONFIG_MAP):
            return _edit_config(text, path, value)
        if value is None:
            return _remove(text, workload, argument)
        return _set(text, workload, argument, value)
    except InputError as error:
        if error.slug == "edit-refused":
            error.parameters |= {"unit": workload.unit, "argument": argument}
        raise


def edit_resource(text: str, workload: Workload, resource: str, number: int) -> str:
    """Set how many devices of a resource a container asks for, in requests and limits alike.

    Raises:
        InputError: ``edit-refused``.
    """
    target = _find(text, workload)
    asked = [get(target.container, "resources", field, resource) for field in ("limits", "requests")]
    scalars = {scalar.event: scalar for scalar in asked if isinstance(scalar, ScalarNode)}
    shared = any(uses(target.root, scalar) != sum(other is scalar for other in asked) for scalar in scalars.values())
    if not scalars or shared:
        reason = "shared" if shared else "missing"
        raise InputError("edit-refused", reason=reason, unit=workload.unit, argument=resource)
    edited = apply_splices(text, [inside(text, leaf, 0, len(leaf.value), str(number)) for leaf in scalars.values()])
    expected = [
        (kind, str(number) if event in scalars else value) for event, (kind, value) in enumerate(target.file.events)
    ]
    if list(compose(edited, workload.unit).events) != expected:
        raise InputError("edit-refused", reason="proof", unit=workload.unit, argument=resource)
    return edited


def _find(text: str, workload: Workload) -> _Target:
    """Find the container of a workload in a text that may have been edited since."""
    file = compose(text, workload.unit)
    document, item, pointer = workload.place or (0, None, "")
    for found in objects_of(file):
        container = found.at(pointer)
        same = (found.document, found.item, found.kind, found.name) == (document, item, workload.kind, workload.name)
        if same and container is not None:
            lists = {name: get(container, name) for name in ("command", "args")}
            listed = {name: node for name, node in lists.items() if isinstance(node, SequenceNode)}
            return _Target(file, found, container, pointer, Line(text, read_command(container, pointer), listed))
    raise refused("not-found")


def _occurrence(line: Line, workload: Workload, argument: str) -> Occurrence | None:
    """Find the words of an argument: as the workload knows them, or as an edit before this one wrote them."""
    known = workload.arguments.given.get(argument)
    shadowed = [given for name, given in workload.arguments.shadowed if name == argument]
    flag = "--" + argument.replace("_", "-")
    written = [Given("", "", flag), Given(value=True, where="", spelling=f"--no-{flag[2:]}")]
    for given in ([known] if known else []) + (written if known is None or known.spelling else []) + shadowed[::-1]:
        occurrence = find_occurrence(line.command.arguments, given)
        if occurrence:
            return occurrence
    return None


def _set(text: str, workload: Workload, argument: str, value: Value) -> str:
    target = _find(text, workload)
    occurrence = _occurrence(target.line, workload, argument)
    flag = "--" + argument.replace("_", "-")
    if isinstance(value, bool):
        return _made(target, *_flag_changes(target.line, occurrence, flag, value=value))
    new = written_value(value)
    if occurrence is not None:
        return _made(target, *set_value(target.line, occurrence, new))
    pair = [flag, new] if _in_pairs(target.line) else [f"{flag}={new}"]
    return _made(target, append_words(target.line, pair))


def _flag_changes(line: Line, occurrence: Occurrence | None, flag: str, *, value: bool) -> tuple[Change, ...]:
    """Switch a flag; nothing if it already is as wanted."""
    negated = f"--no-{flag.removeprefix('--')}"
    if occurrence is None or occurrence.flag is None:
        return (append_words(line, [flag if value else negated]),)
    if occurrence.glued or occurrence.values:
        return set_value(line, occurrence, str(value).lower())
    written = line.command.arguments[occurrence.flag].text
    is_negated = written.startswith(("--no-", "--no_"))
    if value is not is_negated:
        return ()
    return (replace_word(line, line.first + occurrence.flag, flag if value else negated),)


def _in_pairs(line: Line) -> bool:
    """Tell whether the arguments are written as ``--flag value`` rather than ``--flag=value``."""
    words = [word.text for word in line.command.arguments]
    joined = sum(word.startswith("--") and "=" in word for word in words)
    apart = sum(
        word.startswith("--") and "=" not in word and not following.startswith("-")
        for word, following in pairwise(words)
    )
    return apart > joined


def _remove(text: str, workload: Workload, argument: str) -> str:
    """Remove every occurrence: what a later one shadowed would count again."""
    shadowed = [given.where for name, given in workload.arguments.shadowed if name == argument]
    if argument in _NEEDED or any(where.startswith(_IN_CONFIG_MAP) for where in shadowed):
        raise refused("needed" if argument in _NEEDED else "config-file")
    for _ in range(_MOST_OCCURRENCES):
        target = _find(text, workload)
        occurrence = _occurrence(target.line, workload, argument)
        if occurrence is None:
            return text
        text = _made(target, *remove_words(target.line, occurrence))
    raise refused("too-many")


def _made(target: _Target, *changes: Change) -> str:
    """Make the first change that can be proved; with no change to make, the text is as wanted."""
    if not changes:
        return target.file.text
    reason = "proof"
    for change in changes:
        if uses(target.root, change.node) != 1:
            reason = "shared"
            continue
        for splices in _ways(target.file.text, change):
            edited = apply_splices(target.file.text, splices)
            if _proved(target, change, edited):
                return edited
    raise refused(reason)


def _ways(text: str, change: Change) -> Iterator[Sequence[Splice]]:
    """Return the splices, and for a plain leaf one that adds the quotes that its new value may need."""
    yield change.splices
    if isinstance(change.node, ScalarNode) and not change.node.style:
        yield [requoted(text, change.node, change.values[change.node.event])]


def _proved(target: _Target, change: Change, edited: str) -> bool:
    """Tell whether a text says the same as before except for the intended leaves, and has the intended words."""
    try:
        after = compose(edited, target.file.path)
    except InputError:
        return False
    if list(after.events) != change.expected(target.file.events):
        return False
    container = next(item for item in objects_of(after) if item.same_place(target.found)).at(target.pointer)
    return (
        container is not None
        and tuple(word.text for word in read_command(container, target.pointer).words) == change.words
    )


def _edit_config(text: str, path: EditPath, value: Value) -> str:
    """Change a value of a configuration file that stands in a ConfigMap."""
    file = compose(text, path.file)
    kind, _, name = path.object.partition("/")
    holder = next((found for found in objects_of(file) if (found.kind, found.name) == (kind, name)), None)
    outer = holder.at(path.pointer) if holder else None
    if holder is None or not isinstance(outer, ScalarNode) or value is None or path.inner is None:
        raise refused("config-file")
    documents = compose(outer.value, path.object).documents
    leaf = fields(documents[0] if documents else None).get(path.inner)
    if not isinstance(leaf, ScalarNode) or uses(file.documents[holder.document], outer) != 1:
        raise refused("config-file")
    new = str(value).lower() if isinstance(value, bool) else written_value(value)
    inner = inside(outer.value, leaf, 0, len(leaf.value), new)
    changed = apply_splices(outer.value, [inner])
    edited = apply_splices(text, [inside(text, outer, inner.start, inner.end, inner.text)])
    expected = [(kind, changed if event == outer.event else before) for event, (kind, before) in enumerate(file.events)]
    again = fields(compose(changed, path.object).documents[0]).get(path.inner)
    if list(compose(edited, path.file).events) != expected or not (
        isinstance(again, ScalarNode) and again.value == new
    ):
        raise refused("proof")
    return edited
