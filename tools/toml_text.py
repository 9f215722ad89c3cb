"""Write TOML tables and the JSON inside them, the same way every time."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

WIDTH = 118


def table(header: str, row: Mapping[str, Any]) -> str:
    """Write one ``[[header]]`` table; None is left out, for TOML has no null."""
    lines = [f"[[{header}]]"]
    lines += [f"{key} = {value(content)}" for key, content in row.items() if content is not None]
    return "\n".join(lines) + "\n"


def value(content: Any) -> str:
    """Write one TOML value; a ``Json`` becomes a literal block."""
    if isinstance(content, Json):
        return f"'''\n{pack(content.data)}\n'''"
    if isinstance(content, bool):
        return str(content).lower()
    if isinstance(content, Mapping):
        return "{ " + ", ".join(f"{key} = {value(item)}" for key, item in content.items()) + " }"
    if isinstance(content, list | tuple):
        flat = "[" + ", ".join(value(item) for item in content) + "]"
        if len(flat) <= WIDTH - 20:
            return flat
        return "[\n" + "".join(f"    {value(item)},\n" for item in content) + "]"
    return json.dumps(content, ensure_ascii=False)


class Json:
    """Content that is stored as JSON text inside TOML, because null differs from absent in it."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        """Keep the data until it is written."""
        self.data = data


def pack(data: Mapping[str, Any], indent: str = "") -> str:
    """Write JSON with as many entries to a line as fit."""
    entries = [f"{json.dumps(key)}: {_entry(content, indent + '  ')}" for key, content in data.items()]
    return "{\n" + _lines(entries, indent + "  ") + f"\n{indent}}}"


def _entry(content: Any, indent: str) -> str:
    if isinstance(content, Mapping) and len(json.dumps(content)) > WIDTH - 40:
        return pack(content, indent)
    text = json.dumps(content, ensure_ascii=False)
    if isinstance(content, list) and len(text) > WIDTH - 40:
        return "[\n" + _lines([_entry(item, indent + "  ") for item in content], indent + "  ") + f"\n{indent}]"
    return text


def _lines(entries: Iterable[str], indent: str) -> str:
    lines: list[str] = []
    for entry in entries:
        joined = f"{lines[-1]}, {entry}" if lines else ""
        if lines and "\n" not in joined and len(joined) + len(indent) < WIDTH:
            lines[-1] = joined
        else:
            lines.append(entry)
    return ",\n".join(indent + line for line in lines)
