"""The engine's command line: from words to what was given, under vLLM's own names.

All spellings that vLLM takes are read: ``--flag value``, ``--flag=value``, ``_`` for ``-``, argparse's abbreviations,
``--no-flag``, JSON and dotted JSON, ``-tp 8``, ``-O3``, ``8k``. Nothing is refused: what cannot be read becomes
a problem.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from oomedic.arguments.given import (
    NOTHING_GIVEN,
    EngineArgs,
    Given,
    Value,
    merge,
    relevant_environment,
    without_secrets,
)
from oomedic.arguments.printed import read_arguments_repr, read_config_repr, read_namespace_repr
from oomedic.arguments.shell_words import Word, find_vllm, words_of
from oomedic.arguments.table import Argument, ArgumentTable, Match
from oomedic.arguments.values import BOOLEANS, deepened, read_dotted, read_value
from oomedic.arguments.words import is_flag
from oomedic.claim import Claim, claim
from oomedic.redaction import redact

__all__ = (
    "NOTHING_GIVEN",
    "Argument",
    "ArgumentTable",
    "EngineArgs",
    "Given",
    "Value",
    "Word",
    "merge",
    "read_arguments_repr",
    "read_argv",
    "read_config_repr",
    "read_namespace_repr",
    "relevant_environment",
    "words_of",
)

_LEVEL: Final = re.compile(r"-O=?([0-9])")
_SHOWN: Final = 80


def read_argv(words: Sequence[Word], table: ArgumentTable, where: str = "command line") -> EngineArgs:
    """Read an argument vector, with or without the program before it.

    Args:
        words: ``words_of("vllm", "serve", "org/model", …)``, or the arguments alone.
        table: vLLM's arguments; ``table.at(version)`` resolves abbreviations as that release does.
        where: said of words that do not know their own place.
    """
    program = find_vllm(tuple(words))
    return _Reader(words[program.first if program else 0 :], table, where).read()


class _Reader:
    """Walks over the words once; the last value of an argument wins, as in argparse."""

    def __init__(self, words: Sequence[Word], table: ArgumentTable, where: str) -> None:
        self.words = words
        self.table = table
        self.where = where
        self.at = 0
        self.model: Given | None = None
        self.given: dict[str, Given] = {}
        self.dotted: dict[str, Given] = {}
        self.shadowed: list[tuple[str, Given]] = []
        self.unknown: dict[str, None] = {}
        self.problems: list[Claim] = []

    def read(self) -> EngineArgs:
        while self.at < len(self.words):
            word = self.words[self.at]
            self.at += 1
            if word.text.startswith("--"):
                self._long(word)
            elif is_flag(word):
                self._short(word)
            else:
                self._positional(word)
        for name, given in self.dotted.items():
            self._keep(name, given)
        if self.model:
            self._keep("model", self.model)
        return EngineArgs(self.given, {}, tuple(self.shadowed), tuple(self.unknown), tuple(self.problems))

    def _positional(self, word: Word) -> None:
        if self.model is None and self.at == 1:
            self.model = Given(None if word.unknown else word.text, word.where or self.where)
        elif word.unknown:
            self._problem("arguments.words-unknown", word, names=word.unknown)
        elif not word.text:
            return
        elif self.model is None and "model" not in self.given:
            self.model = Given(word.text, word.where or self.where)
        else:
            self._problem("arguments.stray", word)

    def _long(self, word: Word) -> None:
        flag, has_value, value = word.text.partition("=")
        if re.search(r"\s", flag):
            flag = flag.split()[0]
            self.unknown[flag] = None
            self._problem("arguments.joined", word, flag=flag)
            return
        name, _, path = flag.partition(".")
        if name == "--":
            return
        normal = name.replace("_", "-")
        match = self.table.find(normal)
        if match is None:
            self._unknown(word, flag, normal, skip=not has_value)
        else:
            self._take(match, word, flag, path, value if has_value else None)

    def _short(self, word: Word) -> None:
        level = self._level(word)
        if level is not None:
            self._keep("optimization_level", Given(level, word.where or self.where, "-O"))
            return
        flag, has_value, value = word.text.partition("=")
        name, _, path = flag.partition(".")
        match = self.table.exact(name)
        if match is None and (glued := self.table.exact(word.text[:2])):
            self._take(glued, word, word.text[:2], "", word.text[2:])
        elif match is None:
            self._unknown(word, flag, flag, skip=not has_value)
        else:
            self._take(match, word, flag, path, value if has_value else None)

    def _level(self, word: Word) -> int | None:
        """Read ``-O3`` and ``-O 3``: what the number means depends on the release; an object is something else."""
        glued = _LEVEL.fullmatch(word.text)
        if glued:
            return int(glued[1])
        following = self._next()
        if word.text != "-O" or following is None or following.text not in {"0", "1", "2", "3"}:
            return None
        self.at += 1
        return int(following.text)

    def _unknown(self, word: Word, flag: str, normal: str, *, skip: bool) -> None:
        self.unknown[flag] = None
        candidates = self.table.candidates(normal)
        if candidates:
            self._problem("arguments.ambiguous", word, flag=flag, candidates=candidates)
        if skip and self._next_is_value():
            self.at += 1

    def _take(self, match: Match, word: Word, flag: str, path: str, value: str | None) -> None:
        """Take the value of a recognised flag, from the word itself (``value``) or from those that follow."""
        argument = match.argument
        where, first = word.where or self.where, self.at
        values = [word._replace(text=value)] if value is not None else self._values(argument, dotted=bool(path))
        if not values:
            self._problem("arguments.without-value", word, flag=flag)
            return
        if any(part.unknown for part in values):
            names = tuple(name for part in values for name in part.unknown)
            self._problem("arguments.value-unknown", word, flag=flag, names=names)
            self._keep(argument.name, Given(None, where, flag))
            return
        texts = [part.text for part in values]
        try:
            if path:
                self._take_dotted(argument, path, texts[0], Given(None, where, flag))
                return
            read: Value = read_value(argument, texts)
        except ValueError:
            shown = "***" if argument.secret else redact(" ".join(texts))[:_SHOWN]
            self._problem("arguments.unreadable", word, flag=flag, value=shown, kind=argument.kind)
            return
        if argument.kind == "flag" and (value is not None or self.at > first):
            self._switch_with_value(argument, word, flag, on=bool(read) != match.negated)
        if match.negated:
            read = not read
        self._keep(argument.name, Given("***" if argument.secret else without_secrets("", read), where, flag))

    def _switch_with_value(self, argument: Argument, word: Word, flag: str, *, on: bool) -> None:
        """Remember a switch that was given a value: no release takes that that knows ``--no-…`` of it."""
        if argument.no_since is None:
            self._problem("arguments.switch-without-values", word, flag=flag)
            return
        instead = argument.flags[0] if on else f"--no-{argument.flags[0].removeprefix('--')}"
        self._problem("arguments.switch-with-value", word, flag=flag, instead=instead, since=argument.no_since)

    def _take_dotted(self, argument: Argument, path: str, text: str, given: Given) -> None:
        before = self.dotted.get(argument.name)
        known: Mapping[str, Any] = before.value if before and isinstance(before.value, Mapping) else {}
        value = without_secrets("", deepened(known, read_dotted(path.split("."), text)))
        self.dotted[argument.name] = given._replace(value=value)

    def _values(self, argument: Argument, *, dotted: bool) -> list[Word]:
        if argument.kind == "flag" and not dotted:
            following = self._next()
            if following and following.text.lower() in BOOLEANS:
                self.at += 1
                return [following]
            return [Word("true")]
        first = self.at
        while self._next_is_value() and (self.at == first or (argument.kind == "list" and not dotted)):
            self.at += 1
        return list(self.words[first : self.at])

    def _next(self) -> Word | None:
        return self.words[self.at] if self.at < len(self.words) else None

    def _next_is_value(self) -> bool:
        following = self._next()
        return following is not None and not is_flag(following)

    def _keep(self, name: str, given: Given) -> None:
        if name in self.given:
            self.shadowed.append((name, self.given[name]))
        self.given[name] = given

    def _problem(self, message: str, word: Word, **parameters: str | tuple[str, ...]) -> None:
        self.problems.append(claim(message, word.where or self.where, **parameters))
