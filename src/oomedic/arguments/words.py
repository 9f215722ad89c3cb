"""Which words of a command line give an argument its value."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from oomedic.arguments.given import Given
from oomedic.arguments.shell_words import Word
from oomedic.arguments.values import BOOLEANS

_NEGATIVE: Final = re.compile(r"-\d+|-\d*\.\d+")


class Occurrence(NamedTuple):
    """One place where an argument is given.

    Attributes:
        flag: index of the word with the flag, None for the positional model.
        values: indexes of the words that are values; empty for a flag alone and for ``--flag=value``.
        glued: how many characters of the flag's word stand before the value: ``--flag=`` or ``-q``; 0 if it has none.
    """

    flag: int | None
    values: tuple[int, ...]
    glued: int = 0

    @property
    def last(self) -> int:
        """The index of the last word that belongs to the argument."""
        return self.values[-1] if self.values else self.flag or 0

    @property
    def first(self) -> int:
        """The index of the first word that belongs to the argument."""
        return self.values[0] if self.flag is None else self.flag


def is_flag(word: Word) -> bool:
    """Tell whether argparse takes a word for a flag rather than a value: a negative number is a value."""
    return word.text.startswith("-") and _NEGATIVE.fullmatch(word.text) is None


def find_occurrence(words: Sequence[Word], given: Given) -> Occurrence | None:
    """Find the words that gave a value, the last ones if there are several.

    Args:
        words: the engine's arguments, without the program.
        given: what was read from them.
    """
    if not given.spelling:
        found = [index for index, word in enumerate(words) if word.text == given.value or word.unknown]
        return Occurrence(None, (found[0],)) if found else None
    for index in range(len(words) - 1, -1, -1):
        text = words[index].text
        if text == given.spelling:
            return Occurrence(index, _values(words, index, given))
        if text.startswith(f"{given.spelling}="):
            return Occurrence(index, (), len(given.spelling) + 1)
        if len(given.spelling) == len("-q") and text.startswith(given.spelling) and not text.startswith("--"):
            return Occurrence(index, (), len(given.spelling))
    return None


def _values(words: Sequence[Word], flag: int, given: Given) -> tuple[int, ...]:
    following = flag + 1
    if isinstance(given.value, bool):
        explicit = following < len(words) and words[following].text.lower() in BOOLEANS
        return (following,) if explicit else ()
    wanted = len(given.value) if isinstance(given.value, tuple) else 1
    last = following
    while last < min(following + wanted, len(words)) and not is_flag(words[last]):
        last += 1
    return tuple(range(following, last))
