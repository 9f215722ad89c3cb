"""What a cause is: a module whose docstring is its page and whose ``match`` recognises it in the evidence."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from oomedic.evidence import Evidence
from oomedic.finding import Finding


class Matcher(Protocol):
    """Recognises one cause; None when the evidence does not show it."""

    def __call__(self, evidence: Evidence, /) -> Finding | None:
        """Ask, never act."""


class Cause(NamedTuple):
    """One cause, bound to its code.

    ``reads`` are the signatures without which it cannot be found; ``helps`` are remedies in the order in which they are
    tried, ``useless`` those that people try in vain and ``worsens`` those that turn it worse. ``narrows`` are more
    general causes of which this is the precise case: they are not reported beside it.
    """

    code: str
    name: str
    match: Matcher
    reads: tuple[str, ...]
    helps: tuple[str, ...]
    useless: tuple[str, ...]
    worsens: tuple[str, ...]
    narrows: tuple[str, ...]


def cause(
    code: str,
    name: str,
    *,
    reads: tuple[str, ...],
    helps: tuple[str, ...] = (),
    useless: tuple[str, ...] = (),
    worsens: tuple[str, ...] = (),
    narrows: tuple[str, ...] = (),
) -> Callable[[Matcher], Cause]:
    """Bind a code, a name and remedies to a ``match`` function (see ``Cause``)."""

    def bind(match: Matcher) -> Cause:
        return Cause(code, name, match, reads, helps, useless, worsens, narrows)

    return bind
