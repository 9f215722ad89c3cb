"""What is known already: findings that were there when lint was taken up, by their fingerprints.

A fingerprint is made of code, file, engine and argument. Lines and figures do not count, so that an edit elsewhere in
the file brings nothing back; the same finding twice counts twice.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

from oomedic.errors import InputError
from oomedic.lint.verdict import Silenced, Told

SCHEMA: Final = "oomedic/baseline-v1"
_LENGTH: Final = 32


def fingerprinted(told: Iterable[Told]) -> tuple[Told, ...]:
    """Give each finding its fingerprint."""
    seen: Counter[tuple[str, ...]] = Counter()
    found = []
    for each in told:
        key = (each.code, each.place.path.replace("\\", "/").removeprefix("./"), each.unit, each.place.what)
        seen[key] += 1
        digest = hashlib.sha256("\0".join((*key, str(seen[key]))).encode("utf-8", "surrogateescape")).hexdigest()
        found.append(each._replace(fingerprint=digest[:_LENGTH]))
    return tuple(found)


def to_hold(told: Iterable[Told]) -> tuple[Told, ...]:
    """Return what a baseline of now holds: all that no comment silences."""
    return tuple(each for each in told if each.silenced is None or each.silenced.by == "baseline")


def as_baseline(told: Sequence[Told]) -> str:
    """Return findings as the text of a baseline file."""
    rows = [
        {"fingerprint": each.fingerprint, "code": each.code, "file": each.place.path, "unit": each.unit or None}
        for each in told
    ]
    return json.dumps({"schema": SCHEMA, "findings": rows}, indent=2, ensure_ascii=False) + "\n"


def read_baseline(text: str, path: str) -> frozenset[str]:
    """Return the fingerprints of a baseline file.

    Raises:
        InputError: ``baseline-unreadable``.
    """
    try:
        tree: Any = json.loads(text)
        if tree["schema"] != SCHEMA:
            raise InputError("baseline-unreadable", path=path, reason=f"schema {tree['schema']!r}"[:80])
        return frozenset(str(row["fingerprint"]) for row in tree["findings"])
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise InputError("baseline-unreadable", path=path, reason=str(error)[:80]) from None


def known(told: Iterable[Told], baseline: frozenset[str]) -> tuple[Told, ...]:
    """Mark the findings that a baseline holds."""
    return tuple(
        each._replace(silenced=Silenced("baseline")) if each.silenced is None and each.fingerprint in baseline else each
        for each in told
    )
