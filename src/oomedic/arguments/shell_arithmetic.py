"""``$((…))`` of a shell: whole numbers, variables, and what adds, multiplies and divides them."""

import re
from collections.abc import Callable, Mapping
from typing import Final

_TOKEN: Final = re.compile(r"\s*(?:(\d+)|([A-Za-z_]\w*)|([-+*/%()]))")
_MOST: Final = 2**63
_LONGEST: Final = 1000
_OPERATIONS: Final[Mapping[str, Callable[[int, int], int]]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: left // right,
    "%": lambda left, right: left % right,
}
_LEVELS: Final = ("+-", "*/%")


def arithmetic(text: str, value: Callable[[str], str | None]) -> int | None:
    """Return what an expression comes to; None for one that is not of this kind, or whose variables are not known.

    Args:
        text: between the parentheses, with every ``$…`` expanded.
        value: of a variable that is named without a dollar.

    >>> arithmetic("2 * (N + 1) / 3", {"N": "8"}.get), arithmetic("N", {}.get), arithmetic("1 << 2", {}.get)
    (6, None, None)
    """
    tokens = _tokens(text, value) if len(text) <= _LONGEST else None
    if not tokens:
        return None
    try:
        found, rest = _level(tokens, 0)
    except (ZeroDivisionError, IndexError, ValueError):
        return None
    return None if rest or not 0 <= found < _MOST else found


def _tokens(text: str, value: Callable[[str], str | None]) -> list[str] | None:
    found, at = list[str](), 0
    stripped = text.rstrip()
    while at < len(stripped):
        token = _TOKEN.match(stripped, at)
        if token is None:
            return None
        at = token.end()
        written = token[1] or token[3] or value(token[2])
        if written is None:
            return None
        found.append(written.strip())
    return found


def _level(tokens: list[str], level: int) -> tuple[int, list[str]]:
    """Read operands of one precedence from the left; return their value and what is left."""
    if level == len(_LEVELS):
        return _operand(tokens)
    left, rest = _level(tokens, level + 1)
    while rest and rest[0] in _LEVELS[level]:
        right, after = _level(rest[1:], level + 1)
        left, rest = _OPERATIONS[rest[0]](left, right), after
        if abs(left) >= _MOST:
            raise ValueError(left)
    return left, rest


def _operand(tokens: list[str]) -> tuple[int, list[str]]:
    first, rest = tokens[0], tokens[1:]
    if first == "-":
        found, rest = _operand(rest)
        return -found, rest
    if first != "(":
        return int(first), rest
    found, rest = _level(rest, 0)
    if rest[0] != ")":
        raise ValueError(rest[0])
    return found, rest[1:]
