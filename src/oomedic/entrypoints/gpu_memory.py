"""How the memory of a GPU goes while a pod is watched."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final

from oomedic.claim import Claim, claim
from oomedic.units import Bytes

_LOOKS: Final = 6
_GROWS: Final = 4
"""So many looks, each with more memory in use than the one before, are growth and no noise."""


class Memory:
    """The GPU's memory in use over a while, looked at a few times: asking inside a container is not free."""

    def __init__(self, ask: Callable[[], Bytes | None], seconds: float) -> None:
        """Look for the first time; where that shows nothing, no other look is taken."""
        self._ask = ask
        self._pause = seconds / _LOOKS
        first = ask()
        self._seen = [] if first is None else [(0.0, first)]

    def look(self, elapsed: float) -> None:
        """Look again when it is time."""
        if self._seen and elapsed >= self._seen[-1][0] + self._pause:
            used = self._ask()
            if used is not None:
                self._seen.append((elapsed, used))

    def said(self) -> tuple[Claim, ...]:
        """Say how it went, nothing where it could not be seen."""
        if len(self._seen) < 2:
            return ()
        (_, before), (elapsed, after) = self._seen[0], self._seen[-1]
        sizes = [used for _, used in self._seen]
        told = claim("rollout.memory", before=before, after=after, seconds=round(elapsed))
        if len(sizes) < _GROWS or any(later <= earlier for earlier, later in pairwise(sizes)):
            return (told,)
        rate = round(slope(self._seen) * 60)
        return (told, claim("rollout.memory-grows", rate=rate))


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Return the slope of the line through some points that fits best (least squares).

    >>> slope([(0, 10), (1, 12), (2, 14)])
    2.0
    """
    middle = sum(x for x, _ in points) / len(points), sum(y for _, y in points) / len(points)
    spread = sum((x - middle[0]) ** 2 for x, _ in points)
    return sum((x - middle[0]) * (y - middle[1]) for x, y in points) / spread
