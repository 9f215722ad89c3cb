"""Read the pages that causes and remedies carry in their module docstrings.

    Title in one line.

    A paragraph or two.

    What you see
    ------------
    Text of the section.

    Says
    ----
    too-small: One request of {max_model_len} tokens needs {needed:gib}; the cache has {available:gib}.
        A continued line is indented.

The section "Says" holds messages, which go to the message catalogue as ``CODE.id``.
"""

import ast
import re
from importlib import import_module
from pathlib import Path
from typing import Any

SAYS = "Says"
_LISTS = ("reads", "helps", "useless", "worsens", "narrows")
_UNDERLINE = re.compile(r"-{3,}")
_MESSAGE = re.compile(r"([\w-]+):(?:\s+(.*))?")


def read_page(path: Path, kind: str) -> dict[str, Any] | None:
    """Return the page of one module: its code, name, arguments and sections; None when it registers no code."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    registered = _registration(tree)
    if registered is None:
        return None
    title, intro, sections = split(ast.get_docstring(tree) or "")
    says = messages(sections.pop(SAYS, ""))
    code = registered.pop("code")
    registered |= _bound(path, kind, registered)
    return {
        "code": code,
        "name": registered.pop("name", path.stem.replace("_", "-")),
        "kind": kind,
        "module": path.stem,
        "arguments": registered,
        "title": title,
        "intro": intro,
        "sections": sections,
        "says": says,
    }


def _bound(path: Path, kind: str, registered: dict[str, Any]) -> dict[str, Any]:
    """Return the lists of codes and signatures that a cause binds.

    They stand in its decorator. Where one is built from constants of other modules, only the module itself knows it.
    """
    if kind != "cause":
        return {}
    written = {name: registered.get(name, ()) for name in _LISTS}
    if any(isinstance(each, str) for each in written.values()):
        bound = import_module(f"oomedic.causes.{path.stem}").match
        written = {name: getattr(bound, name) for name in _LISTS}
    return {name: list(each) for name, each in written.items()}


def split(docstring: str) -> tuple[str, str, dict[str, str]]:
    """Split a docstring into its title, what stands before the first heading, and the sections in order."""
    lines = docstring.splitlines()
    heads = [
        number
        for number, line in enumerate(lines[:-1])
        if line.strip() and not line.startswith(" ") and _UNDERLINE.fullmatch(lines[number + 1].rstrip())
    ]
    before = lines[: heads[0]] if heads else lines
    sections: dict[str, str] = {}
    for head, end in zip(heads, [*heads[1:], len(lines)], strict=True):
        sections[lines[head].strip()] = "\n".join(lines[head + 2 : end]).strip("\n").rstrip()
    return (before[0].strip() if before else ""), "\n".join(before[1:]).strip(), sections


def messages(text: str) -> dict[str, str]:
    """Read ``id: text`` lines; an indented line continues the message above it."""
    found: dict[str, str] = {}
    last = ""
    for line in text.splitlines():
        match = _MESSAGE.fullmatch(line.rstrip())
        if match and not line.startswith(" "):
            last = match[1]
            found[last] = match[2] or ""
        elif line.strip() and last:
            found[last] = f"{found[last]} {line.strip()}".strip()
    return found


def _registration(tree: ast.Module) -> dict[str, Any] | None:
    """Return the arguments of the first decorator that binds a code."""
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef | ast.ClassDef):
            continue
        for decorator in node.decorator_list:
            if isinstance(decorator, ast.Call):
                positional = dict(zip(("code", "name"), map(_literal, decorator.args), strict=False))
                arguments = positional | {item.arg: _literal(item.value) for item in decorator.keywords if item.arg}
                if isinstance(arguments.get("code"), str):
                    return arguments
    return None


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return ast.unparse(node)
