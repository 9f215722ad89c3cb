"""From planned changes to a manifest that has them, shown as a unified diff."""

from collections.abc import Iterable, Mapping

from oomedic.errors import InputError
from oomedic.remedy import Change
from oomedic.result import Patch
from oomedic.workload import Workload

_NO_ARGUMENT = frozenset({"manual", "gpu"})
_GPU = "nvidia.com/gpu"
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
    for change in changes:
        if change.target in _NO_ARGUMENT or change.target.startswith("env."):
            continue
        try:
            edited[path] = _edited(edited[path], workload, change)
        except InputError:
            return None
    diff = "".join(_diff(texts[name], edited[name], name) for name in texts if texts[name] != edited[name])
    return Patch("diff", diff) if diff else None


def _edited(text: str, workload: Workload, change: Change) -> str:
    from oomedic.manifest_edit import edit, edit_resource  # YAML is loaded only for a manifest

    text = edit(text, workload, change.target, change.after)
    if change.target == "tensor_parallel_size" and workload.gpu_resource == _GPU:
        return edit_resource(text, workload, _GPU, change.after)
    return text


def _diff(before: str, after: str, name: str) -> str:
    """Return a diff that ``git apply`` and ``patch -p1`` take: of an absolute path as seen from the root."""
    from difflib import unified_diff  # only where something changes

    path = name.lstrip("/")
    lines = unified_diff(_lines(before), _lines(after), f"a/{path}", f"b/{path}")
    return "".join(line if line.endswith("\n") else f"{line}\n{_NO_LINE_END}\n" for line in lines)


def _lines(text: str) -> list[str]:
    """Cut at line feeds alone: a form feed or a Unicode line separator is no end of a line for a diff."""
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]
