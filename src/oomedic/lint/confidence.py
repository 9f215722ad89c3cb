"""How sure a finding must be to count."""

from collections.abc import Iterable
from typing import Final

from oomedic.lint.verdict import Told

_ORDER: Final = ("certain", "likely", "possible")


def counts(told: Told, fail_on: str) -> bool:
    """Tell whether a finding is at least as sure as ``fail_on`` and not silenced; for ``never`` none is."""
    if told.silenced is not None or fail_on not in _ORDER:
        return False
    return _ORDER.index(told.confidence) <= _ORDER.index(fail_on)


def any_counts(told: Iterable[Told], fail_on: str) -> bool:
    """Tell whether any finding counts."""
    return any(counts(each, fail_on) for each in told)
