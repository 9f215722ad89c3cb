"""One change of a text of YAML: which characters become what, and the proof that it says just that.

The text is read again after the change, in every layer: nothing but the intended leaves may differ.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from oomedic.errors import InputError
from oomedic.workloads.atlas import Spot
from oomedic.yamldoc.nodes import Node, ScalarNode, uses
from oomedic.yamldoc.splice import Splice, apply_splices, inside, refused, requoted
from oomedic.yamldoc.text import compose

Events = tuple[tuple[str, str], ...]


class Change(NamedTuple):
    """Splices and what they are meant to do.

    Attributes:
        spot: where the node stands that they belong to.
        node: that leaf, list or mapping.
        splices: the characters of the spot's layer that change.
        words: the words of the command line afterwards, None where the arguments alone can be compared.
        values: new values of leaves, by their number among the layer's events.
        added: events in front of the one of that number.
        removed: numbers of events that are gone.
        times: how often the node may stand in its document, through aliases that all mean this engine.
    """

    spot: Spot
    node: Node
    splices: tuple[Splice, ...]
    words: tuple[str, ...] | None = None
    values: Mapping[int, str] = {}
    added: tuple[int, Events] = (-1, ())
    removed: range = range(0)
    times: int = 1

    def expected(self) -> list[tuple[str, str]]:
        """Return the events of the layer as they must be afterwards."""
        found: list[tuple[str, str]] = []
        for number, (kind, value) in enumerate(self.spot.layer.file.events):
            if number == self.added[0]:
                found += self.added[1]
            if number not in self.removed:
                found.append((kind, self.values.get(number, value)))
        return found


class Made(NamedTuple):
    """A change that was made and proved: the file, and its text afterwards."""

    path: str
    text: str


def made(change: Change) -> Made:
    """Make a change in the file that its layer stands in.

    Raises:
        InputError: ``edit-refused``: ``shared`` by an alias, or not ``proof`` against the text that came out.
    """
    if not _alone(change):
        raise refused("shared")
    for splices in _ways(change):
        result = _tried(change, splices)
        if result is not None:
            return result
    raise refused("proof")


def _alone(change: Change) -> bool:
    """Tell whether the node, and every leaf that holds its text, stands once in its document."""
    if uses(change.spot.root, change.node) != change.times:
        return False
    layer = change.spot.layer
    while layer.outer is not None and layer.holder is not None:
        roots = layer.outer.file.documents
        if sum(uses(root, layer.holder) for root in roots) != 1:
            return False
        layer = layer.outer
    return True


def _ways(change: Change) -> Iterator[Sequence[Splice]]:
    """Return the splices, and for a plain leaf one that adds the quotes that its new value may need."""
    yield change.splices
    node = change.node
    if isinstance(node, ScalarNode) and not node.style and node.event in change.values:
        yield [requoted(change.spot.layer.file.text, node, change.values[node.event])]


def _tried(change: Change, splices: Sequence[Splice]) -> Made | None:
    layer = change.spot.layer
    text = _proved(apply_splices(layer.file.text, splices), change.expected())
    while text is not None and layer.outer is not None and layer.holder is not None:
        outer, holder = layer.outer, layer.holder
        try:
            lifted = [inside(outer.file.text, holder, each.start, each.end, each.text) for each in splices]
        except InputError:
            return None
        events = [
            (kind, text if number == holder.event else value) for number, (kind, value) in enumerate(outer.file.events)
        ]
        text = _proved(apply_splices(outer.file.text, lifted), events)
        layer, splices = outer, lifted
    return None if text is None else Made(layer.file.path, text)


def _proved(text: str, events: list[tuple[str, str]]) -> str | None:
    """Return a text that says what it should, None for any other."""
    try:
        return text if list(compose(text, "").events) == events else None
    except InputError:
        return None
