"""Shell programs as the manifests of engines hold them: statements, and words that know where they stand.

This is the part of the POSIX shell grammar that decides which words a command is started with: quotes, escapes,
comments, continuations, ``;`` ``&&`` ``||`` ``|`` ``&`` and newlines, redirections, here-documents, assignments, bash
arrays, ``$VAR`` ``${VAR:-default}`` and the kubelet's ``$(VAR)``. Nothing is executed: both branches of an ``if`` are
read, and what only a running shell could know makes a word's ``unknown``.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from oomedic.shell_words import Variable, Word, split_fields

_BLANK: Final = re.compile(r"(?:[ \t\r]|\\\r?\n|\\(?=[ \t]))+")
_ENDS: Final = frozenset(" \t\r\n;&|<>()")
_PLAIN: Final = re.compile(r"[^ \t\r\n'\"\\$`;&|<>()]+")
_OPERATOR: Final = re.compile(r"\n|;;?|&&|\|\|?|&(?!>)|[()]")
_REDIRECTION: Final = re.compile(r"&>>?|(?:<<<|<<-?|>>|>\||[<>]&?)")
_HERE: Final = re.compile(r"<<-?\s*(['\"]?)(\w+)\1")
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_]\w*)(\+?)=(\()?")
_LONE: Final = re.compile(
    r"(?P<quote>\"?)\$(?:\{(?P<braced>\w+|[@*])(?:\[[@*]\])?\}|(?P<bare>[A-Za-z_]\w*|[0-9@*])|\((?P<kubelet>\w+)\))"
    r"(?P=quote)(?=[\s;&|<>()]|$)"
)
_DEFAULT: Final = re.compile(r"(\w+)(:?)[-=](.*)", re.DOTALL)
_NAMED: Final = re.compile(r"\$(?:\{(\w+)\}|([A-Za-z_]\w*|[0-9])|\((\w+)\))")
_RESERVED: Final = frozenset(
    ("if", "then", "elif", "else", "fi", "while", "until", "do", "done", "for", "case", "esac", "in", "{", "}", "!")
)
_DECLARING: Final = frozenset(("env", "export", "declare", "readonly", "local", "typeset", "-x", "-r"))
_DEPTH: Final = 20
_EXPANDED: Final = 2**20
"""So many characters may come out of variables: a program that doubles a variable again and again is cut off."""


class Statement(NamedTuple):
    """One simple command: its words without assignments and redirections, and the variables set so far."""

    words: tuple[Word, ...]
    environment: Mapping[str, str]


def read_script(
    text: str, variables: Mapping[str, Variable] | None = None, positional: Sequence[Word] = ()
) -> tuple[Statement, ...]:
    """Split a shell program into statements.

    Args:
        text: what follows ``sh -c``.
        variables: the container's environment; a variable without a value is known to exist, no more.
        positional: the words after the program: ``$0``, ``$1``, …

    >>> [word.text for word in read_script("exec vllm serve 'a b' --x=1 # y")[0].words]
    ['exec', 'vllm', 'serve', 'a b', '--x=1']
    """
    return _Reader(text, dict(variables or {}), positional).read()


class _Reader:
    """Walks over one program from left to right."""

    def __init__(self, text: str, variables: dict[str, Variable], positional: Sequence[Word]) -> None:
        self.text = text
        self.at = 0
        self.variables = variables
        self.positional = positional
        self.arrays: dict[str, tuple[Word, ...]] = {}
        self.assigned: dict[str, str] = {}
        self.here: list[str] = []
        self.expanded = 0
        self.depth = 0
        self.words: list[Word] = []
        self.statements: list[Statement] = []

    def read(self) -> tuple[Statement, ...]:
        while self.at < len(self.text):
            if not (self._skip() or self._end_statement() or self._redirect()):
                self._take_word()
        self._close()
        return tuple(self.statements)

    def _skip(self) -> bool:
        blank = _BLANK.match(self.text, self.at)
        if blank:
            self.at = blank.end()
            return True
        comment = self.text[self.at] == "#"
        if comment:
            self.at = self._find("\n", self.at)
        return comment

    def _end_statement(self) -> bool:
        operator = _OPERATOR.match(self.text, self.at)
        if operator is None:
            return False
        self.at = operator.end()
        self._close()
        if operator[0] == "\n":
            for delimiter in self.here:
                end = re.compile(rf"^\t*{re.escape(delimiter)}$", re.MULTILINE).search(self.text, self.at)
                self.at = end.end() if end else len(self.text)
            self.here = []
        return True

    def _close(self) -> None:
        if self.words:
            self.statements.append(Statement(tuple(self.words), dict(self.assigned)))
        self.words = []

    def _redirect(self) -> bool:
        here = _HERE.match(self.text, self.at)
        redirection = here or _REDIRECTION.match(self.text, self.at)
        if redirection is None:
            return False
        self.at = redirection.end()
        if here:
            self.here.append(here[2])
            return True
        while self.at < len(self.text) and _BLANK.match(self.text, self.at):
            self._skip()
        if self.at < len(self.text) and not _OPERATOR.match(self.text, self.at):
            self._word()
        return True

    def _take_word(self) -> None:
        assignment = _ASSIGNMENT.match(self.text, self.at)
        if assignment and all(word.text in _DECLARING for word in self.words):
            self._assign(assignment)
            return
        for word in self._word():
            descriptor = word.text.isdigit() and self.text[self.at : self.at + 1] in {"<", ">"}
            reserved = not self.words and word.text in _RESERVED
            if not (descriptor or reserved):
                self.words.append(word)

    def _assign(self, match: re.Match[str]) -> None:
        name, more, array = match.groups()
        self.at = match.end()
        if array:
            self.arrays[name] = (self.arrays.get(name, ()) if more else ()) + self._array()
            return
        word = self._word()[0] if self.at < len(self.text) and not self._ended() else Word("", (self.at, self.at))
        before = self.variables.get(name, Variable("")).text if more else ""
        text = None if word.unknown or before is None else before + word.text
        start = word.span[0] if word.origin and word.span else word.inner(self.text)
        self.variables[name] = Variable(text, word.origin, None if before else start)
        if text is not None:
            self.assigned[name] = text

    def _array(self) -> tuple[Word, ...]:
        found: list[Word] = []
        while self.at < len(self.text) and self.text[self.at] != ")":
            if self._skip():
                continue
            if self._ended():
                self.at += 1
            else:
                found += self._word()
        self.at += 1
        return tuple(found)

    def _ended(self) -> bool:
        return self.text[self.at] in _ENDS

    def _word(self) -> list[Word]:
        """Read the word that starts here; a variable may make several words of it, or none."""
        lone = _LONE.match(self.text, self.at)
        if lone:
            self.at = lone.end()
            return self._lone(lone)
        start, pieces, unknown = self.at, list[str](), list[str]()
        while self.at < len(self.text) and not self._ended():
            pieces.append(self._piece(unknown))
        word = Word("".join(pieces), (start, min(self.at, len(self.text))), unknown=tuple(unknown))
        return [word._replace(quoting=word.quoting_in(self.text))]

    def _lone(self, match: re.Match[str]) -> list[Word]:
        """Return the words of a variable that is a whole word: they stand in the variable's own text."""
        name = match["braced"] or match["bare"] or match["kubelet"]
        if match["kubelet"] and name not in self.variables:
            return [Word("", match.span(), unknown=(match[0],))]
        listed = self._listed(name)
        if listed is not None:
            return list(listed) if self._allows(len(listed)) else []
        variable = self.variables.get(name)
        if variable is None or variable.text is None or not self._allows(len(variable.text)):
            return [Word("", match.span(), unknown=(name,))]
        if match["quote"]:
            return [variable.word(0, len(variable.text))]
        if match["kubelet"]:
            # The kubelet replaces the text before the shell reads it, so the value's quotes count.
            parts = [word for statement in read_script(variable.text) for word in statement.words]
            return [variable.moved(word) for word in parts]
        return split_fields(variable)

    def _listed(self, name: str) -> Sequence[Word] | None:
        if name in {"@", "*"}:
            return self.positional[1:]
        if name.isdecimal():
            return self.positional[int(name[:4]) : int(name[:4]) + 1]
        return self.arrays.get(name)

    def _allows(self, size: int) -> bool:
        self.expanded += size
        return self.expanded <= _EXPANDED

    def _piece(self, unknown: list[str]) -> str:
        plain = _PLAIN.match(self.text, self.at)
        if plain:
            self.at = plain.end()
            return plain[0]
        character = self.text[self.at]
        if character == "$":
            return self._dollar(unknown)
        self.at += 1
        if character == "'":
            start, self.at = self.at, self._find("'", self.at) + 1
            return self.text[start : self.at - 1]
        if character == '"':
            return self._double(unknown)
        if character == "`":
            self.at = self._find("`", self.at) + 1
            unknown.append("`")
            return ""
        escaped = self.text[self.at : self.at + 1]
        self.at += 1
        return "" if escaped == "\n" else escaped

    def _double(self, unknown: list[str]) -> str:
        pieces: list[str] = []
        while self.at < len(self.text) and self.text[self.at] != '"':
            character = self.text[self.at]
            following = self.text[self.at + 1 : self.at + 2]
            if character == "$":
                pieces.append(self._dollar(unknown))
            elif character == "\\" and following and following in '$"\\`\n':
                pieces.append("" if following == "\n" else following)
                self.at += 2
            else:
                pieces.append(character)
                self.at += 1
        self.at += 1
        return "".join(pieces)

    def _dollar(self, unknown: list[str]) -> str:
        """Expand the ``$…`` that stands here."""
        start = self.at
        named = _NAMED.match(self.text, start)
        if named and not (named[3] and named[3] not in self.variables):
            self.at = named.end()
            return self._value(named[1] or named[2] or named[3], unknown)
        following = self.text[start + 1 : start + 2]
        if following not in {"{", "("}:
            special = following in {"@", "*", "#", "?", "$", "!", "-"}
            unknown += [f"${following}"] * special
            self.at += 1 + special
            return "" if special else "$"
        self.at = self._balanced(following)
        default = _DEFAULT.fullmatch(self.text[start + 2 : self.at - 1]) if following == "{" else None
        if default is None:
            unknown.append(self.text[start : self.at])
            return ""
        value = self.variables.get(default[1], Variable("")).text
        if value or (value is not None and default[1] in self.variables and not default[2]):
            return value
        if value is None or self.depth > _DEPTH:
            unknown.append(default[1])
            return ""
        inside = _Reader(default[3] + '"', self.variables, self.positional)
        inside.depth, inside.expanded = self.depth + 1, self.expanded
        text = inside._double(unknown)
        self.expanded = inside.expanded
        return text

    def _value(self, name: str, unknown: list[str]) -> str:
        listed = self._listed(name)
        if listed is not None:
            return listed[0].text if listed and self._allows(len(listed[0].text)) else ""
        variable = self.variables.get(name)
        if variable is None or variable.text is None or not self._allows(len(variable.text)):
            unknown.append(name)
            return ""
        return variable.text

    def _balanced(self, opening: str) -> int:
        closing = {"{": "}", "(": ")"}[opening]
        depth = 0
        for at in range(self.at + 1, len(self.text)):
            depth += (self.text[at] == opening) - (self.text[at] == closing)
            if depth == 0:
                return at + 1
        return len(self.text)

    def _find(self, text: str, start: int) -> int:
        found = self.text.find(text, start)
        return found if found >= 0 else len(self.text)
