"""Colours, tables and bars for a terminal, readable without colour too.

Written here and not taken from a library: a whole diagnosis may take eight times as long as ``python -c pass``, and
importing rich alone takes four (docs/adr/0005).
"""

from collections.abc import Sequence

_CODES = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}

_WIDE = 100
"""From here on a terminal shows tables whole, as a file does."""
_BREAKS = str.maketrans("\n\t\r\f\v", "     ")
"""Where a line may end, beside blanks; a no-break space, as in 131 072, holds its two sides together."""


class Pen:
    """Paints text, or leaves it as it is."""

    def __init__(self, *, colour: bool) -> None:
        """Choose whether escape codes are written."""
        self.colour = colour

    def paint(self, text: str, *styles: str) -> str:
        """Return the text in these styles."""
        if not self.colour or not styles:
            return text
        return f"\033[{';'.join(_CODES[style] for style in styles)}m{text}\033[0m"


def table(
    rows: Sequence[Sequence[str]],
    right: frozenset[int] = frozenset(),
    indent: str = "  ",
    within: tuple[int, int] | None = None,
) -> list[str]:
    """Align columns; ``right`` are the numbers of the columns that hold figures.

    ``within`` is the width of a narrow terminal, and how many columns must stay: the last ones make room.
    """
    if not rows:
        return []
    lines, columns = _aligned(rows, right, indent), max(map(len, rows))
    while within and within[0] < _WIDE and columns > within[1] and max(map(len, lines)) > within[0]:
        columns -= 1
        lines = _aligned([row[:columns] for row in rows], right, indent)
    return lines


def _aligned(rows: Sequence[Sequence[str]], right: frozenset[int], indent: str) -> list[str]:
    widths = [max(len(row[column]) for row in rows if column < len(row)) for column in range(max(map(len, rows)))]
    return [
        indent + "  ".join(_cell(row, column, widths, right) for column in range(len(row))).rstrip() for row in rows
    ]


def bar(parts: Sequence[tuple[str, int]], whole: int, width: int) -> str:
    """Draw parts of a whole as runs of their letters; what is left is drawn as dots, what exceeds it as !."""
    scale = width / max(whole, 1)
    drawn = ""
    at = 0.0
    for letter, size in parts:
        at = min(at + max(0, size) * scale, 2.0 * width)  # a size beyond all measure is not drawn to its end
        drawn += letter * max(0, round(at) - len(drawn))
    inside, beyond = drawn[:width], drawn[width:]
    return inside.ljust(width, "·") + "|" + "!" * min(len(beyond), width // 4)


def wrapped(text: str, width: int, indent: str = "  ") -> list[str]:
    """Break a sentence into lines of at most ``width``."""
    lines, line = [], indent
    for word in filter(None, text.translate(_BREAKS).split(" ")):
        if len(line) + len(word) + 1 > width and line.strip():
            lines.append(line.rstrip())
            line = indent
        line += word + " "
    return [*lines, line.rstrip()] if line.strip() else lines


def _cell(row: Sequence[str], column: int, widths: Sequence[int], right: frozenset[int]) -> str:
    text = row[column]
    return text.rjust(widths[column]) if column in right else text.ljust(widths[column])
