"""YAML as Kubernetes reads it, with the place of every node in the text.

PyYAML's C parser gives the events (YAML 1.1, marks in characters); nodes are built from them without recursion, an
alias is the very node that it names, and a file that only pretends to be small (aliases of aliases) is refused.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from oomedic.errors import InputError
from oomedic.yamldoc.nodes import MappingNode, Node, ScalarNode, SequenceNode

_LARGEST: Final = 32 * 2**20
_EVENTS: Final = 2_000_000
_EXPANDED: Final = 5_000_000
_DEPTH: Final = 100


class YamlFile(NamedTuple):
    """The documents of one file.

    Attributes:
        path: as the user named it.
        text: what was read.
        documents: the root of each document that is not empty.
        events: kind and value of everything in the file, in order: two files with the same events say the same.
        braces: where ``{{`` was read as a mapping inside a mapping, which only templates do.
    """

    path: str
    text: str
    documents: tuple[Node, ...]
    events: tuple[tuple[str, str], ...]
    braces: int | None


class _Open(NamedTuple):
    """A collection whose end was not read yet; ``size`` counts nodes and depth as if every alias were written out."""

    start: int
    flow: bool
    anchor: str | None
    mapping: bool
    nodes: list[Node]
    size: list[int]
    event: int


def compose(text: str, path: str) -> YamlFile:
    """Read a file of YAML documents.

    Raises:
        InputError: ``yaml-unreadable``, ``yaml-duplicate-key``, ``yaml-too-large``, ``yaml-too-deep``, with the place.
    """
    import yaml  # takes as long as all the rest of a start: only who reads YAML pays for it

    if len(text) > _LARGEST:
        raise InputError("yaml-too-large", path=path, size=len(text), limit=_LARGEST)
    composer = _Composer(text, path)
    bom = len(text) - len(text.removeprefix("\ufeff"))
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        for event in yaml.parse(text[bom:], Loader=loader):
            composer.take(event, bom)
    except yaml.reader.ReaderError as error:
        raise unreadable(text, path, error.position + bom, error.reason) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise unreadable(text, path, mark.index + bom if mark else 0, error.problem or "") from None
    except UnicodeError:
        raise unreadable(text, path, 0, "not valid Unicode") from None
    return composer.file()


def unreadable(text: str, path: str, index: int, problem: str) -> InputError:
    """Make the error for a place in the text."""
    line, column = line_and_column(text, index)
    return InputError("yaml-unreadable", path=path, line=line, column=column, problem=problem)


def line_and_column(text: str, index: int) -> tuple[int, int]:
    r"""Return line and column, counted from one.

    >>> line_and_column("ab\ncd", 4)
    (2, 2)
    """
    return text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index)


class _Composer:
    """Builds nodes from events."""

    def __init__(self, text: str, path: str) -> None:
        self.text = text
        self.path = path
        self.open: list[_Open] = []
        self.anchors: dict[str, tuple[Node, Sequence[int]]] = {}
        self.documents: list[Node] = []
        self.events: list[tuple[str, str]] = []
        self.braces: int | None = None

    def file(self) -> YamlFile:
        return YamlFile(self.path, self.text, tuple(self.documents), tuple(self.events), self.braces)

    def take(self, event: Any, bom: int) -> None:
        kind = type(event).__name__
        start = event.start_mark.index + bom
        anchor: Any = getattr(event, "anchor", None)
        tag: Any = getattr(event, "tag", None)
        number = len(self.events)
        self.events.append((f"{kind} {anchor} {tag}" if anchor or tag else kind, getattr(event, "value", "")))
        if number > _EVENTS:
            raise InputError("yaml-too-large", path=self.path, size=len(self.text), limit=_LARGEST)
        if kind == "ScalarEvent":
            end = event.end_mark.index + bom
            self._add(ScalarNode(event.value, start, end, event.style or "", number, tag), anchor, (1, 1))
        elif kind == "AliasEvent":
            self._alias(anchor, start)
        elif kind in {"MappingStartEvent", "SequenceStartEvent"}:
            if len(self.open) >= _DEPTH:
                raise self._error("yaml-too-deep", start)
            mapping = kind == "MappingStartEvent"
            self.open.append(_Open(start, event.flow_style, anchor, mapping, [], [1, 1], number))
        elif kind in {"MappingEndEvent", "SequenceEndEvent"}:
            self._close(event.end_mark.index + bom, number)
        elif kind == "DocumentStartEvent":
            self.anchors = {}

    def _close(self, end: int, number: int) -> None:
        done = self.open.pop()
        if not done.mapping:
            self._add(
                SequenceNode(tuple(done.nodes), done.start, end, done.flow, number, done.event), done.anchor, done.size
            )
            return
        pairs = tuple(zip(done.nodes[::2], done.nodes[1::2], strict=True))
        seen: set[str] = set()
        for key, _ in pairs:
            if not isinstance(key, ScalarNode):
                if self.braces is None and self.text.startswith("{{", done.start):
                    self.braces = done.start
                continue
            if key.value in seen and key.value != "<<":
                raise self._error("yaml-duplicate-key", key.start, key=key.value)
            seen.add(key.value)
        self._add(MappingNode(pairs, done.start, end, done.flow, number, done.event), done.anchor, done.size)

    def _add(self, node: Node, anchor: str | None, size: Sequence[int]) -> None:
        if anchor:
            self.anchors[anchor] = (node, size)
        if not self.open:
            self.documents.append(node)
        else:
            self._hang(node, size, node.start)

    def _alias(self, name: str, start: int) -> None:
        found = self.anchors.get(name)
        if found is None:
            raise unreadable(self.text, self.path, start, f"undefined alias {name}")
        self._hang(*found, start)

    def _hang(self, node: Node, size: Sequence[int], start: int) -> None:
        """Hang a node into the collection that is open."""
        parent = self.open[-1]
        parent.nodes.append(node)
        parent.size[0] += size[0]
        parent.size[1] = max(parent.size[1], size[1] + 1)
        if parent.size[0] > _EXPANDED:
            raise self._error("yaml-too-large", start, size=parent.size[0], limit=_EXPANDED)
        if parent.size[1] > _DEPTH:
            raise self._error("yaml-too-deep", start)

    def _error(self, slug: str, index: int, **parameters: str | int) -> InputError:
        line, column = line_and_column(self.text, index)
        return InputError(slug, path=self.path, line=line, column=column, **parameters)
