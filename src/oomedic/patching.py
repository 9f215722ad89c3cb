"""From planned changes to a manifest that has them, shown as a unified diff."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from oomedic.errors import InputError
from oomedic.redaction import redact
from oomedic.remedy import Change
from oomedic.result import Patch
from oomedic.workload import Workload

if TYPE_CHECKING:
    from oomedic.placement.move import Move

_NO_ARGUMENT = frozenset({"manual", "gpu"})
_GPU = "nvidia.com/gpu"
_CONTEXT = 3
_NO_LINE_END = "\\ No newline at end of file"


def manifest_patch(texts: Mapping[str, str], workload: Workload, changes: Iterable[Change]) -> Patch | None:
    """Return the diff of the files that the changes touch, None where nothing of the plan stands in a manifest.

    A change of tensor_parallel_size moves the requested GPUs with it. An edit that the file does not allow safely is
    left out: the plan still names it.
    """
    edited = dict(texts)
    path = next((place.file for place in workload.edit_paths.values()), None) or next(iter(texts), None)
    if path is None:
        return None
    try:
        edited[path] = edited_text(edited[path], workload, changes)
    except InputError:
        return None
    diff = "".join(diff_of(texts[name], edited[name], name) for name in texts if texts[name] != edited[name])
    return Patch("diff", diff) if diff else None


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


def edited_text(text: str, workload: Workload, changes: Iterable[Change]) -> str:
    """Return a manifest with the changes that stand in it; those that stand elsewhere are passed over.

    Raises:
        InputError: ``edit-refused``.
    """
    for change in changes:
        if change.target not in _NO_ARGUMENT and not change.target.startswith("env."):
            text = _edited(text, workload, change)
    return text


def _edited(text: str, workload: Workload, change: Change) -> str:
    from oomedic.manifest_edit import edit, edit_resource  # YAML is loaded only for a manifest

    text = edit(text, workload, change.target, change.after)
    if change.target == "tensor_parallel_size" and workload.gpu_resource == _GPU:
        return edit_resource(text, workload, _GPU, change.after)
    return text


def diff_of(before: str, after: str, name: str) -> str:
    """Return a diff that ``git apply`` and ``patch -p1`` take: of an absolute path as seen from the root.

    It has three lines of context, or as many as hold no secret. Where the changed line itself holds one, it is hidden.
    """
    from difflib import unified_diff  # only where something changes

    from oomedic.secret_lines import secret_lines

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
