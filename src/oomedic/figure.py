"""A number that knows where it comes from and how sure it is."""

from typing import Final, Literal, NamedTuple

from oomedic.units import GIB, Bytes

Origin = Literal["printed", "computed", "catalogued", "assumed"]

_TRUST: Final[tuple[Origin, ...]] = ("printed", "catalogued", "computed", "assumed")


class Figure(NamedTuple):
    """Bytes with a band and an origin.

    ``where`` points at the source: ``"log:412"``, ``"manifest:deployment.yaml"``, ``"gpus.toml:A10G"``,
    ``"--gpu-memory"``, or the formula that made it. Always ``low <= value <= high``.
    """

    value: Bytes
    low: Bytes
    high: Bytes
    origin: Origin
    where: str

    def plus(self, other: "Figure") -> "Figure":
        """Add two figures: bands add up, and the sum is as trustworthy as its weaker part."""
        return Figure(
            self.value + other.value,
            self.low + other.low,
            self.high + other.high,
            _weaker(self.origin, other.origin),
            self.where if self.where == other.where else f"{self.where} + {other.where}",
        )

    def minus(self, other: "Figure") -> "Figure":
        """Subtract a figure: the bands add up here too."""
        return Figure(
            self.value - other.value,
            self.low - other.high,
            self.high - other.low,
            _weaker(self.origin, other.origin),
            self.where if self.where == other.where else f"{self.where} - {other.where}",
        )


def exactly(value: Bytes, origin: Origin, where: str) -> Figure:
    """Make a figure without a band."""
    return Figure(value, value, value, origin, where)


def between(low: Bytes, value: Bytes, high: Bytes, origin: Origin, where: str) -> Figure:
    """Make a figure with a band."""
    return Figure(value, min(low, value), max(high, value), origin, where)


def printed_gib(text: str, where: str) -> Figure:
    """Read a printed number of GiB; the band is half of its last digit.

    >>> figure = printed_gib("2.17", "log:3")
    >>> figure.value, figure.high - figure.low
    (2330019758, 10737418)
    """
    return printed(text, GIB, where)


def printed(text: str, unit: Bytes, where: str) -> Figure:
    """Read a printed number of ``unit`` bytes; the band is half of its last digit, none for a whole number of bytes."""
    value = float(text) * unit
    decimals = len(text.partition(".")[2])
    half = 0.0 if unit == 1 else unit / 2 / 10**decimals
    return Figure(round(value), round(value - half), round(value + half), "printed", where)


def _weaker(one: Origin, other: Origin) -> Origin:
    if one == other:
        return one
    weaker = max(one, other, key=_TRUST.index)
    return "assumed" if weaker == "assumed" else "computed"
