"""One condition on a node's labels, as nodeSelectorTerms and NodePools write it."""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from oomedic.yamldoc.nodes import Node, get, items, text_of

_ALWAYS: Final = frozenset(("NotIn", "DoesNotExist"))
"""Operators that a missing label satisfies."""
_ORDER: Final = {
    "Gt": lambda label, bound: label > bound,
    "Lt": lambda label, bound: label < bound,
    "Gte": lambda label, bound: label >= bound,
    "Lte": lambda label, bound: label <= bound,
}


class Requirement(NamedTuple):
    """A label's ``key``, an ``operator`` (In, NotIn, Exists, DoesNotExist, Gt, Lt; Karpenter also Gte, Lte), values."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def allows(self, label: str | None) -> bool:
        """Tell whether a label's value satisfies this; None where the node has no such label.

        >>> Requirement("k", "Gt", ("40000",)).allows("45776"), Requirement("k", "NotIn", ("a",)).allows(None)
        (True, True)
        """
        if label is None:
            return self.operator in _ALWAYS
        if self.operator in _ORDER:
            return _is_number(label) and all(
                _is_number(value) and _ORDER[self.operator](int(label), int(value)) for value in self.values
            )
        decided = {
            "In": label in self.values,
            "NotIn": label not in self.values,
            "Exists": True,
            "DoesNotExist": False,
        }
        return decided.get(self.operator, False)


def requirements_of(expressions: Node | None) -> tuple[Requirement, ...]:
    """Read a list of expressions with key, operator and values."""
    found = []
    for expression in items(expressions):
        key, operator = text_of(get(expression, "key")), text_of(get(expression, "operator"))
        if key and operator:
            values = (text_of(value) for value in items(get(expression, "values")))
            found.append(Requirement(key, operator, tuple(value for value in values if value is not None)))
    return tuple(found)


def exactly(labels: Mapping[str, str]) -> tuple[Requirement, ...]:
    """Return the requirements that a nodeSelector stands for."""
    return tuple(Requirement(key, "In", (value,)) for key, value in labels.items())


def overlap(requirements: Iterable[Requirement]) -> bool:
    """Tell whether some value of one label can satisfy all of these, where the label's values are not known.

    >>> overlap([Requirement("zone", "In", ("a", "b")), Requirement("zone", "NotIn", ("a",))])
    True
    """
    requirements = list(requirements)
    listed = [set(each.values) for each in requirements if each.operator == "In"]
    if not listed:
        operators = {each.operator for each in requirements}
        return not ("DoesNotExist" in operators and operators - _ALWAYS)
    candidates = set.intersection(*listed)
    return any(all(each.allows(value) for each in requirements) for value in candidates)


def _is_number(text: str) -> bool:
    return text.lstrip("-").isdecimal()
