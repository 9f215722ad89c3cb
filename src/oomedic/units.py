"""Sizes and counts: bytes inside, GiB (2**30) in text.

Three notations meet here and differ in small ways: sizes as people and logs write them ("22.1GiB", "9GB", "2.00 MiB"),
Kubernetes quantities ("80Gi", "20G", 85899345920) and vLLM's human-readable counts ("8k" is 8000, "8K" is 8192).
"""

import re
from typing import Final

from oomedic.errors import UsageError

Bytes = int
"""Always bytes; never a rounded GiB."""

KIB: Final = 2**10
MIB: Final = 2**20
GIB: Final = 2**30

_BINARY: Final = {"k": KIB, "m": MIB, "g": GIB, "t": 2**40, "p": 2**50, "e": 2**60}
_DECIMAL: Final = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "p": 10**15, "e": 10**18}
_SMALL: Final = {"m": 1e-3, "u": 1e-6, "n": 1e-9}

_SIZE: Final = re.compile(r"\s*(-?\d+(?:\.\d+)?|-?\.\d+)\s*(?:(?:bytes?|b)|([kmgtp])(i?)b)?\s*", re.IGNORECASE)
_QUANTITY: Final = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(?:([KMGTPE])i|([numkMGTPE])|[eE]([+-]?\d+))?")
_COUNT: Final = re.compile(r"(-?\d+)(\.\d+)?([kmgtKMGT]?)")


def parse_size(text: str) -> Bytes:
    """Read a size with a unit of bytes: ``"22.1GiB"``, ``"9GB"``, ``"2.00 MiB"``, ``"334 bytes"``.

    GB is 10**9 and GiB is 2**30, as everywhere outside vLLM's own older log lines.

    >>> parse_size("9GB"), parse_size("1.5 KiB")
    (9000000000, 1536)

    Raises:
        UsageError: ``size-unreadable``.
    """
    match = _SIZE.fullmatch(text)
    if match is None:
        raise UsageError("size-unreadable", text=text)
    number, prefix, binary = match.groups()
    factor = 1 if prefix is None else (_BINARY if binary else _DECIMAL)[prefix.lower()]
    return round(float(number) * factor)


def parse_quantity(quantity: str | float) -> Bytes:
    """Read a Kubernetes quantity of bytes: ``"80Gi"`` (2**30), ``"20G"`` (10**9), ``"1e9"``, ``85899345920``.

    >>> parse_quantity("20G"), parse_quantity("2Gi"), parse_quantity(1024)
    (20000000000, 2147483648, 1024)

    Raises:
        UsageError: ``quantity-unreadable``.
    """
    if isinstance(quantity, int | float):
        return round(quantity)
    match = _QUANTITY.fullmatch(quantity.strip())
    if match is None:
        raise UsageError("quantity-unreadable", text=quantity)
    number, binary, decimal, exponent = match.groups()
    if binary:
        return round(float(number) * _BINARY[binary.lower()])
    if decimal:
        factor = _SMALL[decimal] if decimal in _SMALL else _DECIMAL[decimal.lower()]
        return round(float(number) * factor)
    return round(float(number) * 10.0 ** int(exponent or 0))


def parse_count(text: str) -> int:
    """Read a whole number as vLLM's ``human_readable_int`` does (vllm/engine/arg_utils.py, since 0.8.5).

    A small letter is decimal and may follow a fraction, a capital letter is binary and may not.

    >>> parse_count("8k"), parse_count("8K"), parse_count("25.6k"), parse_count("32768")
    (8000, 8192, 25600, 32768)

    Raises:
        UsageError: ``count-unreadable``.
    """
    match = _COUNT.fullmatch(text.strip())
    if match is None:
        raise UsageError("count-unreadable", text=text)
    whole, fraction, letter = match.groups()
    if fraction and not letter.islower():
        raise UsageError("count-unreadable", text=text)
    if not letter:
        return int(whole)
    return round(float(whole + (fraction or "")) * (_DECIMAL if letter.islower() else _BINARY)[letter.lower()])


def gib(size: float) -> str:
    """Write bytes as text: two decimals of GiB, or MiB and KiB below a hundredth of one.

    >>> gib(6034502451), gib(2 * MIB), gib(0), gib(-GIB)
    ('5.62 GiB', '2.00 MiB', '0.00 GiB', '-1.00 GiB')
    """
    magnitude = abs(size)
    if magnitude >= GIB / 100 or magnitude == 0:
        return f"{size / GIB:.2f} GiB"
    if magnitude >= MIB / 100:
        return f"{size / MIB:.2f} MiB"
    return f"{size / KIB:.2f} KiB"
