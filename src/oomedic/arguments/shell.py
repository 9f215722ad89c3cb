"""Shell programs as the manifests of engines hold them: statements, and words that know where they stand.

This is the part of the POSIX shell grammar that decides which words a command is started with: quotes, escapes,
comments, continuations, ``;`` ``&&`` ``||`` ``|`` ``&`` and newlines, redirections, here-documents, assignments, bash
arrays, ``$VAR`` ``${VAR:-default}`` and the kubelet's ``$(VAR)``. Nothing is executed: both branches of an ``if`` are
read, and what only a running shell could know makes a word's ``unknown``.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from oomedic.arguments.shell_expansion import WordReader
from oomedic.arguments.shell_words import Variable, Word

_BLANK: Final = re.compile(r"(?:[ \t\r]|\\\r?\n|\\(?=[ \t]))+")
_OPERATOR: Final = re.compile(r"\n|;;?|&&|\|\|?|&(?!>)|[()]")
_LIST_ENDS: Final = frozenset(("&", ";", ";;", "\n"))
_REDIRECTION: Final = re.compile(r"&>>?|(?:<<<|<<-?|>>|>\||[<>]&?)")
_HERE: Final = re.compile(r"<<-?\s*(['\"]?)(\w+)\1")
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_]\w*)(\+?)=(\()?")
_RESERVED: Final = frozenset(
    ("if", "then", "elif", "else", "fi", "while", "until", "do", "done", "for", "case", "esac", "in", "{", "}", "!")
)
_DECLARING: Final = frozenset(("env", "export", "declare", "readonly", "local", "typeset", "-x", "-r"))


class Statement(NamedTuple):
    """One simple command.

    Attributes:
        words: without assignments and redirections.
        environment: the variables set so far.
        background: whether the shell goes on (``&``) and never waits for it.
    """

    words: tuple[Word, ...]
    environment: Mapping[str, str]
    background: bool = False


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


class _Reader(WordReader):
    """Walks over one program from left to right."""

    def __init__(self, text: str, variables: dict[str, Variable], positional: Sequence[Word]) -> None:
        super().__init__(text, variables, positional)
        self.assigned: dict[str, str] = {}
        self.here: list[str] = []
        self.words: list[Word] = []
        self.statements: list[Statement] = []
        self.joined = 0  # the first statement of the list that && and || make

    def read(self) -> tuple[Statement, ...]:
        while self.at < len(self.text):
            if not (self._skip() or self._end_statement() or self._redirect()):
                self._take_word()
        self._close()
        waited = 0
        for number, statement in enumerate(self.statements):
            if statement.words[0].text == "wait":
                waited = number
        return tuple(
            statement._replace(background=False) if number < waited else statement
            for number, statement in enumerate(self.statements)
        )

    def _skip(self) -> bool:
        blank = _BLANK.match(self.text, self.at)
        if blank:
            self.at = blank.end()
            return True
        comment = self.text[self.at] == "#"
        if comment:
            self.at = self.find("\n", self.at)
        return comment

    def _end_statement(self) -> bool:
        operator = _OPERATOR.match(self.text, self.at)
        if operator is None:
            return False
        self.at = operator.end()
        self._close()
        if operator[0] == "&":
            self.statements[self.joined :] = [each._replace(background=True) for each in self.statements[self.joined :]]
        if operator[0] in _LIST_ENDS:
            self.joined = len(self.statements)
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
            self.word()
        return True

    def _take_word(self) -> None:
        assignment = _ASSIGNMENT.match(self.text, self.at)
        if assignment and all(word.text in _DECLARING for word in self.words):
            self._assign(assignment)
            return
        for word in self.word():
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
        word = self.word()[0] if self.at < len(self.text) and not self.ended() else Word("", (self.at, self.at))
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
            if self.ended():
                self.at += 1
            else:
                found += self.word()
        self.at += 1
        return tuple(found)
