"""Which lines of a manifest hold a secret, so that a diff shows none of them.

Nothing is parsed: a line is judged by its own words and by the lines around it, so that a text that is only a part of a
manifest, or no good YAML, is judged as well.
"""

import re
from typing import Final

from oomedic.redaction import is_secret_name, redact

_NAME: Final = re.compile(r"\s*(?:- +)?['\"]?name['\"]?\s*:\s*['\"]?([\w.-]+)['\"]?\s*(?:#.*)?$")
_FLAG: Final = re.compile(r"\s*- +['\"]?(--?[A-Za-z][\w-]*)['\"]?\s*(?:#.*)?$")
_IN_ONE_LINE: Final = re.compile(r"\{[^{}]*name['\"]?\s*:\s*['\"]?([\w.-]+)[^{}]*value['\"]?\s*:")


def secret_lines(text: str) -> frozenset[int]:
    """Return the numbers, from 0, of the lines that hold a secret, or may hold a part of one."""
    lines = text.split("\n")
    found: set[int] = set()
    for number, line in enumerate(lines):
        if redact(line) != line or any(map(is_secret_name, _IN_ONE_LINE.findall(line))):
            found.add(number)
        name, flag = _NAME.match(line), _FLAG.match(line)
        if name is not None and is_secret_name(name[1]):
            found.update(_item_around(lines, number))
        elif flag is not None and is_secret_name(flag[1]):
            found.update(_next_item(lines, number))
    return frozenset(found)


def _item_around(lines: list[str], number: int) -> set[int]:
    """Return the lines of the list item that a line stands in: its value may stand before or behind its name."""
    first = number
    while first > 0 and not lines[first].lstrip().startswith("- ") and _indent(lines[first]) >= _indent(lines[number]):
        first -= 1
    dash = _indent(lines[first])
    last = number + 1
    while last < len(lines) and (not lines[last].strip() or _indent(lines[last]) > dash):
        last += 1
    return set(range(first, last))


def _next_item(lines: list[str], number: int) -> set[int]:
    """Return the lines of the list item behind a flag, which is its value."""
    dash = _indent(lines[number])
    last = number + 2
    while last < len(lines) and (not lines[last].strip() or _indent(lines[last]) > dash):
        last += 1
    return set(range(number + 1, min(last, len(lines))))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
