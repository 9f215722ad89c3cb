"""Where an argument that is not given yet would be written down: the source of truth of each shape."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from oomedic.workloads.source import Source
from oomedic.workloads.workload import EditPath
from oomedic.yamldoc.nodes import MappingNode, Node, SequenceNode, get, pointer_token

Spelling = Literal["flag", "dashed", "snake", "camel"]


class Home(NamedTuple):
    """One way to add an argument.

    Attributes:
        way: ``list``: as items of a list; ``fields``: as a key of a mapping; ``variable``: as a new entry of ``env``;
            ``text``: behind the words that a leaf holds.
        node: the list, the mapping or the leaf; with ``keys``, the mapping below which they are missing.
        keys: what has to be written first.
        spelling: how a key of a mapping is written: ``--max-model-len``, ``max-model-len``, ``max_model_len``,
            ``maxModelLen``.
        name: the variable's.
        beside: what has to stand beside the addition, so that nothing else changes with it.
        touched: arguments that ``beside`` spells out.
    """

    way: Literal["list", "fields", "variable", "text"]
    node: Node
    keys: tuple[str, ...] = ()
    spelling: Spelling = "flag"
    name: str = ""
    beside: Mapping[str, bool] = {}
    touched: tuple[str, ...] = ()

    def edit_path(self, source: Source) -> EditPath | None:
        """Say where it is, None where nobody wrote it."""
        spot = source.spot(self.node)
        if spot is None:
            return None
        path = spot.edit_path(self.node, self.name or None)
        if not self.keys:
            return path
        if spot.inner is None:
            below = "".join(f"/{pointer_token(key)}" for key in self.keys)
            return path._replace(pointer=f"{path.pointer or ''}{below}", span=None)
        return path._replace(inner=".".join(part for part in (spot.inner, *self.keys) if part))

    def key(self, argument: str) -> str:
        """Spell an argument as a key.

        >>> from oomedic.yamldoc.rendered import leaf
        >>> [Home("fields", leaf(""), (), way).key("max_model_len") for way in ("flag", "dashed", "snake", "camel")]
        ['--max-model-len', 'max-model-len', 'max_model_len', 'maxModelLen']
        """
        if self.spelling == "snake":
            return argument
        if self.spelling == "camel":
            first, *others = argument.split("_")
            return first + "".join(part.capitalize() for part in others)
        dashed = argument.replace("_", "-")
        return f"--{dashed}" if self.spelling == "flag" else dashed


def list_home(mapping: Node | None, key: str) -> Home | None:
    """Return the list under a key as the place of additions, whether it is there, empty, or missing."""
    if not isinstance(mapping, MappingNode):
        return None
    node = get(mapping, key)
    return Home("list", node) if isinstance(node, SequenceNode) else Home("list", mapping, (key,))


def fields_home(mapping: Node | None, key: str, spelling: Spelling) -> Home | None:
    """Return the mapping under a key as the place of additions, whether it is there, empty, or missing."""
    if not isinstance(mapping, MappingNode):
        return None
    node = get(mapping, key)
    if isinstance(node, MappingNode):
        return Home("fields", node, (), spelling)
    return Home("fields", mapping, (key,), spelling)
