"""How a language writes numbers, and which form of a word stands beside a number.

A message chooses the form itself, with a list of forms in the order of the catalogue's ``Plural-Forms``:

    {wanted} {wanted:plural pod|pods}                 English: 1 pod, 2 pods
    {wanted} {wanted:plural pod|pody|podów}           Polish: 1 pod, 2 pody, 5 podów

One sentence often counts three things at once, which gettext's own plural forms cannot do (docs/adr/0009).
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

PLURAL: Final = "plural "
"""What the format of a choice begins with."""
_PERIOD: Final = 100
"""From here on all known rules look at the last two digits alone (tools/catalogues.py checks that)."""


class Numbers(NamedTuple):
    """How numbers are written.

    Attributes:
        decimal: the sign before the decimals.
        group: the sign between thousands.
        plurals: the number of the form for 0, 1, 2 … 199, one digit each.
    """

    decimal: str = "."
    group: str = ","
    plurals: str = "10" + "1" * 198

    def written(self, text: str) -> str:
        """Return a figure that Python wrote with this language's signs.

        >>> Numbers(",", " ").written("1,234.50 GiB")
        '1 234,50 GiB'
        """
        if (self.decimal, self.group) == (".", ","):
            return text
        return text.translate({ord("."): self.decimal, ord(","): self.group})

    def form(self, number: object, forms: Sequence[str]) -> str:
        """Choose the form that stands beside a number; a fraction takes the one after those of whole numbers.

        >>> Numbers().form(1, ("pod", "pods")), Numbers().form(0, ("pod", "pods"))
        ('pod', 'pods')
        """
        if isinstance(number, float) and number.is_integer():
            number = int(number)
        last = len(forms) - 1
        if not isinstance(number, int):
            return forms[last]
        size = abs(number)
        place = size if size < 2 * _PERIOD else _PERIOD + size % _PERIOD
        return forms[min(int(self.plurals[place]), last)]


def numbers_of(row: Mapping[str, str] | None) -> Numbers:
    """Read a row of the compiled ``languages.json``; None is English."""
    return Numbers(row["decimal"], row["group"], row["plurals"]) if row else Numbers()
