"""From planned changes to a manifest that has them, shown as a unified diff."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from oomedic.arguments.table import ArgumentTable
from oomedic.errors import InputError
from oomedic.redaction import redact
from oomedic.remedy import Change
from oomedic.result import Patch
from oomedic.workloads.workload import Workload

if TYPE_CHECKING:
    from oomedic.placement.move import Move

_NO_ARGUMENT = frozenset({"manual", "gpu"})
_GPU = "nvidia.com/gpu"
_CONTEXT = 3
_NO_LINE_END = "\\ No newline at end of file"


def manifest_patch(
    texts: Mapping[str, str], workload: Workload, changes: Iterable[Change], table: ArgumentTable | None = None
) -> Patch | None:
    """Return the diff of the files that the changes touch, None where nothing of the plan stands in a manifest.

    An edit that the files do not allow safely is left out: the plan still names it.
    """
    if not texts:
        return None
    try:
        edited = edited_files(texts, workload, changes, table)
    except InputError:
        return None
    text = diff_of_files(texts, edited)
    return Patch("diff", text) if text else None


class FilePatch(NamedTuple):
    """What to apply of one file: a unified diff of it, or the whole of a new one."""

    format: Literal["diff", "manifest"]
    path: str
    text: str


def move_patches(move: "Move") -> tuple[FilePatch, ...]:
    """Return what a move changes, in the order in which to apply it."""
    return tuple(
        FilePatch("manifest", file.path, file.after)
        if file.before is None
        else FilePatch("diff", file.path, diff_of(file.before, file.after, file.path))
        for file in move.files
    )


def edited_files(
    texts: Mapping[str, str], workload: Workload, changes: Iterable[Change], table: ArgumentTable | None = None
) -> dict[str, str]:
    """Make the changes of a plan in the texts of manifests; those that stand elsewhere are passed over.

    A change of tensor_parallel_size moves the requested GPUs of a single pod with it.

    Raises:
        InputError: ``edit-refused``: one of them cannot be made without changing something else too.
    """
    from oomedic.edits.argument import edit_files  # YAML is loaded only for a manifest
    from oomedic.edits.devices import edit_devices  # YAML is loaded only for a manifest

    edited = dict(texts)
    for change in changes:
        if change.target in _NO_ARGUMENT or change.target.startswith("env."):
            continue
        edited = edit_files(edited, workload, change.target, change.after, table)
        alone = workload.gpu_resource == _GPU and workload.group_size == 1
        if change.target == "tensor_parallel_size" and alone and workload.gpus_per_pod != change.after:
            edited = edit_devices(edited, workload, change.after, table)
    return edited


def edited_text(text: str, workload: Workload, changes: Iterable[Change], table: ArgumentTable | None = None) -> str:
    """Make the changes of a plan in the one manifest that a workload was read from.

    Raises:
        InputError: as ``edited_files``.
    """
    path = next((place.file for place in workload.edit_paths.values()), workload.unit)
    return edited_files({path: text}, workload, changes, table)[path]


def diff_of_files(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """Return a unified diff of all files that differ."""
    return "".join(diff_of(before[name], after[name], name) for name in before if before[name] != after[name])


def diff_of(before: str, after: str, name: str) -> str:
    """Return a diff that ``git apply`` and ``patch -p1`` take: of an absolute path as seen from the root.

    It has three lines of context, or as many as hold no secret. Where the changed line itself holds one, it is hidden.
    """
    from difflib import unified_diff  # only where something changes

    from oomedic.edits.secret_lines import secret_lines

    path = name.lstrip("/")
    context = _context(before, after, secret_lines(before))
    lines = unified_diff(_lines(before), _lines(after), f"a/{path}", f"b/{path}", n=context)
    return "".join(redact(line) if line.endswith("\n") else f"{redact(line)}\n{_NO_LINE_END}\n" for line in lines)


def _context(before: str, after: str, secret: frozenset[int]) -> int:
    """Return how many lines around each change can be shown."""
    from difflib import SequenceMatcher  # see diff_of

    changes = [
        code for code in SequenceMatcher(None, _lines(before), _lines(after)).get_opcodes() if code[0] != "equal"
    ]
    for context in range(_CONTEXT, 0, -1):
        shown = {line for _, start, end, _, _ in changes for line in range(start - context, end + context)}
        if not shown & secret:
            return context
    return 0


def _lines(text: str) -> list[str]:
    """Cut at line feeds alone: a form feed or a Unicode line separator is no end of a line for a diff."""
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]
