"""Values as Python prints them, read as far as they go.

Log lines hold the ``repr`` of dictionaries, of objects (``LoRAModulePath(name='sql')``), of enumerations
(``<CUDAGraphMode.NONE: 0>``) and of types (``torch.bfloat16``), sometimes in JSON's spelling, and sometimes cut off.
What is complete is read; what is not is left out.
"""

import re
from contextlib import suppress
from typing import Any, Final

_STRING: Final = re.compile(r"[brfu]{0,2}('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")", re.DOTALL)
_NUMBER: Final = re.compile(r"[-+]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][-+]?\d++)?(?=\s*+[,)\]}>])")
_NAME: Final = re.compile(r"[A-Za-z_][\w.]*")
_ENUM: Final = re.compile(r"<[\w.]+: ")
_BARE: Final = re.compile(r"[^,)\]}>]*")
_SEPARATOR: Final = re.compile(r"[\s,]*")
_KEYWORD: Final = re.compile(r"(\w+)=")
_ELLIPSIS: Final = re.compile(r"\.\.\.|…")
_ESCAPE: Final = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}
_NAMED: Final = {"True": True, "true": True, "False": False, "false": False, "None": None, "null": None}
_CLOSING: Final = {"(": ")", "[": "]", "{": "}"}
_DEPTH: Final = 40


class CutOff(Exception):  # noqa: N818 - it is no error: the text ends before the value does
    """The text ends before the value does."""


def read_literal(text: str, start: int = 0) -> tuple[Any, int]:
    """Read the value that starts here; return it and where it ends.

    >>> read_literal("{'a': [1, 2.5], 'b': <Mode.NONE: 0>, 'c': Path('/x'), 'd': torch.int8}")[0]
    {'a': (1, 2.5), 'b': 0, 'c': '/x', 'd': 'torch.int8'}

    Raises:
        CutOff: the text ends before the value does.
    """
    return _Literal(text, start).value(0)


def read_pairs(text: str, start: int, *, keywords: bool) -> dict[str, Any]:
    """Read ``'key': value`` or ``key=value`` pairs from here to the closing bracket, or as far as the text goes."""
    found: dict[str, Any] = {}
    with suppress(CutOff):
        _Literal(text, start).pairs(found, ")" if keywords else "}", 0)
    return found


class _Literal:
    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.at = at

    def value(self, depth: int) -> tuple[Any, int]:
        found = self._value(depth)
        return found, self.at

    def pairs(self, found: dict[str, Any], closing: str, depth: int) -> None:
        """Read pairs into ``found`` until the closing bracket; a mapping's keys are texts here."""
        while not self._closed(closing):
            ellipsis = _ELLIPSIS.match(self.text, self.at)
            if ellipsis:
                self.at = ellipsis.end()
                continue
            keyword = _KEYWORD.match(self.text, self.at) if closing == ")" else None
            if keyword:
                self.at = keyword.end()
                found[keyword[1]] = self._value(depth + 1)
                continue
            key = self._value(depth + 1)
            if self.text.startswith(":", self.at):
                self.at += 1
                found[str(key)] = self._value(depth + 1)
            else:
                found[str(len(found))] = key

    def _closed(self, closing: str) -> bool:
        self._pass(_SEPARATOR)
        if self.at >= len(self.text):
            raise CutOff
        closed = self.text[self.at] == closing
        self.at += closed
        return closed

    def _value(self, depth: int) -> Any:
        self._pass(_SEPARATOR)
        if self.at >= len(self.text) or depth > _DEPTH:
            raise CutOff
        character = self.text[self.at]
        if character in "[({":
            return self._container(character, depth)
        if character == "<":
            return self._angled(depth)
        string = _STRING.match(self.text, self.at)
        if string:
            self.at = string.end()
            return _ESCAPE.sub(_unescaped, string[1][1:-1])
        if character in "'\"":
            raise CutOff
        number = _NUMBER.match(self.text, self.at)
        if number:
            self.at = number.end()
            return _number(number[0])
        return self._named(depth)

    def _container(self, opening: str, depth: int) -> Any:
        self.at += 1
        if opening == "{":
            found: dict[str, Any] = {}
            self.pairs(found, "}", depth)
            return found
        items: list[Any] = []
        while not self._closed(_CLOSING[opening]):
            before = self.at
            items.append(self._value(depth + 1))
            if self.at == before:
                raise CutOff
        return tuple(items)

    def _angled(self, depth: int) -> Any:
        enum = _ENUM.match(self.text, self.at)
        if enum:
            self.at = enum.end()
            value = self._value(depth + 1)
        else:
            value = None
        end = self.text.find(">", self.at)
        if end < 0:
            raise CutOff
        self.at = end + 1
        return value

    def _named(self, depth: int) -> Any:
        name = _NAME.match(self.text, self.at)
        if name and self.text.startswith("(", name.end()):
            self.at = name.end() + 1
            found: dict[str, Any] = {}
            self.pairs(found, ")", depth)
            return next(reversed(found.values())) if found and set(found) == set(map(str, range(len(found)))) else found
        bare = _BARE.match(self.text, self.at)
        end = bare.end() if bare else self.at
        if end in {self.at, len(self.text)}:
            raise CutOff
        text = self.text[self.at : end].strip()
        if ":" in text and name:
            end, text = name.end(), name[0]
        self.at = end
        return _NAMED.get(text, text)

    def _pass(self, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self.text, self.at)
        self.at = match.end() if match else self.at


def _unescaped(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] in "xuU" and len(code) > 1:
        number = int(code[1:], 16)
        return match[0] if number > 0x10FFFF or 0xD800 <= number <= 0xDFFF else chr(number)
    return _ESCAPED.get(code, code)


def _number(text: str) -> int | float | str:
    try:
        return int(text)
    except ValueError:
        return float(text)
