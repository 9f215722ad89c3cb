"""What a slip is: a module whose docstring is its page and whose ``find`` sees it in a manifest.

No engine dies of a slip by itself. It is a word that does not do what its author meant, so that the next crash looks
inexplicable.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

from oomedic.arguments.given import Given
from oomedic.claim import Claim
from oomedic.evidence import Evidence
from oomedic.workloads.reading import Reading


class Sighting(NamedTuple):
    """One slip in one manifest: what it says, and what it is about: an argument as it was given, or a field's path."""

    said: Claim
    about: "Given | str | None" = None


class Finder(Protocol):
    """Finds one kind of slip."""

    def __call__(self, reading: Reading, evidence: Evidence, /) -> Iterator[Sighting]:
        """Look, never act."""


class Slip(NamedTuple):
    """One kind of slip, bound to its code."""

    code: str
    name: str
    find: Finder


def slip(code: str, name: str) -> Callable[[Finder], Slip]:
    """Bind a code and a name to a ``find`` function."""

    def bind(find: Finder) -> Slip:
        return Slip(code, name, find)

    return bind
