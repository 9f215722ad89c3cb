"""Taints of nodes and tolerations of pods, as the scheduler compares them."""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from oomedic.yamldoc.nodes import Node, items, texts_of

_HARD: Final = frozenset(("NoSchedule", "NoExecute"))


class Taint(NamedTuple):
    """A mark on a node; ``effect`` is NoSchedule, PreferNoSchedule or NoExecute."""

    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        """Write it as kubectl does."""
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


def taints_of(node: Node | None) -> tuple[Taint, ...]:
    """Read the taints of a NodePool's template or of a Node."""
    written = map(texts_of, items(node))
    return tuple(Taint(each["key"], each.get("value", ""), each.get("effect", "")) for each in written if "key" in each)


def untolerated(taints: Iterable[Taint], tolerations: Iterable[Mapping[str, str]]) -> Taint | None:
    """Return the first taint that keeps a pod away, None when all are tolerated or only preferences."""
    tolerations = tuple(tolerations)
    return next(
        (
            taint
            for taint in taints
            if taint.effect in _HARD and not any(_tolerates(each, taint) for each in tolerations)
        ),
        None,
    )


def _tolerates(toleration: Mapping[str, str], taint: Taint) -> bool:
    """Compare as k8s.io/api core/v1 Toleration.ToleratesTaint does."""
    if toleration.get("effect") and toleration["effect"] != taint.effect:
        return False
    if toleration.get("key") and toleration["key"] != taint.key:
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return True
    return bool(toleration.get("key")) and toleration.get("value", "") == taint.value
