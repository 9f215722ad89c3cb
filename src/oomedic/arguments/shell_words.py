"""Words of a command line, and where each of them is written.

A word's ``span`` is a range of characters in the text of its ``origin``, quotes included, so that one word can be
replaced by a splice. The origin is "" for the text that was read, or the environment variable that the word came from.
"""

import re
from typing import Final, NamedTuple

Span = tuple[int, int]

_FIELD: Final = re.compile(r"[^ \t\n]+")
_MODULES: Final = frozenset(
    (
        "vllm.entrypoints.openai.api_server",
        "vllm.entrypoints.api_server",
        "vllm.entrypoints.openai.multiproc_api_server",
        "dynamo.vllm",
    )
)
_SCRIPTS: Final = (
    "vllm/entrypoints/openai/api_server.py",
    "vllm/entrypoints/api_server.py",
    "vllm/inference_api.py",  # KAITO's own server around vLLM's arguments
)


class Word(NamedTuple):
    """One word, after quotes and variables are resolved.

    ``quoting`` is ``'``, ``"``, "" (none) or "mixed". ``unknown`` names the variables and substitutions in it whose
    value cannot be known here; their text is missing from ``text``. ``where`` says where a person finds the word,
    ``reference`` where the program names the variable that the word came from, and ``carrier`` which item of
    ``command`` or ``args`` brought it.
    """

    text: str
    span: Span | None = None
    origin: str = ""
    quoting: str = ""
    unknown: tuple[str, ...] = ()
    where: str = ""
    reference: Span | None = None
    carrier: str = ""

    def quoting_in(self, source: str) -> str:
        """Tell how the word is quoted in the text that it was read from."""
        written = source[self.span[0] : self.span[1]] if self.span else self.text
        if written == self.text:
            return ""
        quote = written[:1]
        return quote if quote in {"'", '"'} and written == f"{quote}{self.text}{quote}" else "mixed"

    def inner(self, source: str) -> int | None:
        """Return where the word's text starts in the source, if it stands there letter by letter."""
        if self.span is None or self.quoting_in(source) == "mixed":
            return None
        return self.span[0] + (self.quoting_in(source) != "")


class Variable(NamedTuple):
    """The text of a variable: where it is written (``origin``, ``start``), None for what cannot be known."""

    text: str | None
    origin: str = ""
    start: int | None = None

    def word(self, start: int, end: int) -> Word:
        """Return a range of the text as a word."""
        span = None if self.start is None else (self.start + start, self.start + end)
        return Word((self.text or "")[start:end], span, self.origin)

    def moved(self, word: Word) -> Word:
        """Return a word that was read from the text on its own as a word of this variable's origin."""
        return word._replace(span=self.shifted(word.span), origin=self.origin)

    def shifted(self, span: Span | None) -> Span | None:
        """Return a range of the text as a range of the origin's text."""
        return None if span is None or self.start is None else (span[0] + self.start, span[1] + self.start)


class Program(NamedTuple):
    """An engine that is started: ``name`` is ``serve`` or ``api_server``, ``first`` the index of its first argument."""

    name: str
    first: int


def split_fields(variable: Variable) -> list[Word]:
    """Split a variable's text at blanks, as a shell does with an unquoted ``$VAR``."""
    return [variable.word(*field.span()) for field in _FIELD.finditer(variable.text or "")]


def words_of(*texts: str) -> tuple[Word, ...]:
    """Make words of an argument vector.

    >>> words_of("vllm", "serve")[1].text
    'serve'
    """
    return tuple(Word(text, (0, len(text))) for text in texts)


def find_vllm(words: tuple[Word, ...]) -> Program | None:
    """Find where vLLM's server is started: ``vllm serve``, ``-m vllm.entrypoints…``, a path to either.

    What stands before it (``exec``, ``env A=B``, ``nsys profile``, ``uv run``) does not matter.

    >>> find_vllm(words_of("python3", "-m", "vllm.entrypoints.openai.api_server", "--port", "1"))
    Program(name='api_server', first=3)
    """
    texts = [word.text for word in words]
    for index, text in enumerate(texts):
        following = texts[index + 1] if index + 1 < len(texts) else ""
        if following == "serve" and (text.rpartition("/")[2] == "vllm" or text == "vllm.entrypoints.cli.main"):
            return Program("serve", index + 2)
        if text == "-m" and following in _MODULES:
            return Program("api_server", index + 2)
        if text.endswith(_SCRIPTS):
            return Program("api_server", index + 1)
    return None
