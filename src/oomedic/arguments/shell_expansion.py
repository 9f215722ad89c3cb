"""One word of a shell program: quotes, escapes, and what variables make of it."""

import re
from collections.abc import Sequence
from typing import Final

from oomedic.arguments.shell_words import Variable, Word, split_fields

_ENDS: Final = frozenset(" \t\r\n;&|<>()")
_PLAIN: Final = re.compile(r"[^ \t\r\n'\"\\$`;&|<>()]+")
_LONE: Final = re.compile(
    r"(?P<quote>\"?)\$(?:\{(?P<braced>\w+|[@*])(?:\[[@*]\]|:?[-=](?P<default>[^\s{}'\"$`\\;&|<>()]*))?\}"
    r"|(?P<bare>[A-Za-z_]\w*|[0-9@*])|\((?P<kubelet>\w+)\))"
    r"(?P=quote)(?=[\s;&|<>()]|$)"
)
_DEFAULT: Final = re.compile(r"\$\{(\w+)(:?)[-=](.*)\}", re.DOTALL)
_NAMED: Final = re.compile(r"\$(?:\{(\w+)\}|([A-Za-z_]\w*|[0-9])|\((\w+)\))")
_DEPTH: Final = 20
_EXPANDED: Final = 2**20
"""So many characters may come out of variables: a program that doubles a variable again and again is cut off."""


class WordReader:
    """Reads words of a program from left to right; ``at`` is where it stands."""

    def __init__(self, text: str, variables: dict[str, Variable], positional: Sequence[Word]) -> None:
        """Start at the beginning of the text, with the variables and positional parameters of its surroundings."""
        self.text = text
        self.at = 0
        self.variables = variables
        self.positional = positional
        self.arrays: dict[str, tuple[Word, ...]] = {}
        self.expanded = 0
        self.depth = 0

    def ended(self) -> bool:
        """Tell whether a word ends here."""
        return self.text[self.at] in _ENDS

    def all_words(self) -> list[Word]:
        """Read every word, as if nothing but blanks could stand between them."""
        words: list[Word] = []
        while self.at < len(self.text):
            if self.ended():
                self.at += 1
            else:
                words += self.word()
        return words

    def word(self) -> list[Word]:
        """Read the word that starts here; a variable may make several words of it, or none."""
        lone = _LONE.match(self.text, self.at)
        if lone:
            self.at = lone.end()
            return [word._replace(reference=lone.span()) for word in self._lone(lone)]
        start, pieces, unknown = self.at, list[str](), list[str]()
        while self.at < len(self.text) and not self.ended():
            pieces.append(self._piece(unknown))
        word = Word("".join(pieces), (start, min(self.at, len(self.text))), unknown=tuple(unknown))
        return [word._replace(quoting=word.quoting_in(self.text))]

    def _lone(self, match: re.Match[str]) -> list[Word]:
        """Return the words of a variable that is a whole word: they stand in the variable's own text."""
        name = match["braced"] or match["bare"] or match["kubelet"]
        listed = None if match["kubelet"] else self._listed(name)
        if listed is not None:
            return list(listed) if self._allows(len(listed)) else []
        variable = self.variables.get(name)
        if match["default"] is not None and (variable is None or variable.text == ""):
            return [Word(match["default"], match.span("default"))]
        if variable is None or variable.text is None or not self._allows(len(variable.text)):
            return [Word("", match.span(), unknown=(match[0] if match["kubelet"] else name,))]
        return [variable.word(0, len(variable.text))] if match["quote"] else self._fields(variable, match)

    def _fields(self, variable: Variable, match: re.Match[str]) -> list[Word]:
        if match["kubelet"]:
            # The kubelet replaces the text before the shell reads it, so the value's quotes count.
            return [variable.moved(word) for word in WordReader(variable.text or "", {}, ()).all_words()]
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
            start, self.at = self.at, self.find("'", self.at) + 1
            return self.text[start : self.at - 1]
        if character == '"':
            return self._double(unknown)
        if character == "`":
            self.at = self.find("`", self.at) + 1
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
        """Expand the ``$…`` that stands here; the kubelet writes ``$$(…)`` as ``$(…)``."""
        start = self.at
        named = _NAMED.match(self.text, start)
        if named and (named[3] is None or named[3] in self.variables):
            self.at = named.end()
            return self._value(named[1] or named[2] or named[3] or "", unknown)
        self.at += self.text.startswith("$$(", start)
        following = self.text[self.at + 1 : self.at + 2]
        if following in {"{", "("}:
            self.at = self._balanced(following)
            return self._substituted(self.text[start : self.at], unknown)
        special = following in {"@", "*", "#", "?", "$", "!", "-"}
        self.at += 1 + special
        unknown += [f"${following}"] * special
        return "" if special else "$"

    def _substituted(self, written: str, unknown: list[str]) -> str:
        """Expand ``${NAME:-default}`` and ``$((…))``; all other substitutions need a running shell."""
        if written.startswith("$((") and written.endswith("))") and self.depth <= _DEPTH:
            return self._computed(written, unknown)
        default = _DEFAULT.fullmatch(written)
        if default is None or self.depth > _DEPTH:
            unknown.append(written)
            return ""
        name, colon, instead = default.groups()
        variable = self.variables.get(name)
        if variable is not None and variable.text is None:
            unknown.append(name)
            return ""
        if variable is not None and (variable.text or not colon):
            return self._value(name, unknown)
        return self._expanded(instead, unknown)

    def _computed(self, written: str, unknown: list[str]) -> str:
        """Return the number that an expression of arithmetic comes to."""
        from oomedic.arguments.shell_arithmetic import arithmetic  # few programs count

        missing: list[str] = []
        text = self._expanded(written[3:-2], missing)
        found = None if missing else arithmetic(text, lambda name: getattr(self.variables.get(name), "text", None))
        if found is None:
            unknown.append(written)
            return ""
        return str(found)

    def _expanded(self, text: str, unknown: list[str]) -> str:
        """Expand a text as if it stood between double quotes."""
        inside = WordReader(text + '"', self.variables, self.positional)
        inside.depth, inside.expanded = self.depth + 1, self.expanded
        found = inside._double(unknown)
        self.expanded = inside.expanded
        return found

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

    def find(self, text: str, start: int) -> int:
        """Return where a text stands next, or the end."""
        found = self.text.find(text, start)
        return found if found >= 0 else len(self.text)
