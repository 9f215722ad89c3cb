"""What a shape reads from: the objects of one file and of those given beside it, and vLLM's arguments."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from oomedic.arguments.table import ArgumentTable
from oomedic.kube.objects import KubeObject, objects_of
from oomedic.workloads.atlas import Atlas, Spot
from oomedic.yamldoc.nodes import Node, ScalarNode
from oomedic.yamldoc.text import YamlFile

Names = Mapping[tuple[str, str], Sequence[KubeObject]]


class Beside(NamedTuple):
    """The objects of all files that were given together, by kind and name, and by kind."""

    by_name: Names
    by_kind: Mapping[str, Sequence[KubeObject]]

    @classmethod
    def of(cls, objects: Iterable[KubeObject]) -> "Beside":
        """Sort objects."""
        by_name: dict[tuple[str, str], list[KubeObject]] = {}
        by_kind: dict[str, list[KubeObject]] = {}
        for found in objects:
            by_name.setdefault((found.kind, found.name), []).append(found)
            by_kind.setdefault(found.kind, []).append(found)
        return cls(by_name, by_kind)


class Source:
    """One file's objects, what can be looked up beside them, and where everything is written."""

    def __init__(
        self,
        file: YamlFile,
        table: ArgumentTable,
        beside: Beside | None = None,
        rendered: tuple[tuple[KubeObject, ...], Atlas] | None = None,
    ) -> None:
        """Take a file's objects.

        Args:
            file: the manifest.
            table: vLLM's arguments.
            beside: the objects of the other files that were given with it.
            rendered: what a tool makes of the file, instead of the objects that stand in it, and where that is written.
        """
        self.file = file
        self.table = table
        self.objects, self.atlas = rendered or (tuple(objects_of(file)), Atlas())
        self._own = Beside.of(self.objects)
        self._beside = beside

    def find(self, kind: str, name: str | None) -> KubeObject | None:
        """Return the object of this kind and name: of this file, else the only one of the others."""
        if name is None:
            return None
        own = self._own.by_name.get((kind, name), ())
        others = self._beside.by_name.get((kind, name), ()) if self._beside else ()
        found = own[0] if own else others[0] if len(others) == 1 else None
        if found is not None:
            self.atlas.take(found)
        return found

    def of_kind(self, kind: str) -> Sequence[KubeObject]:
        """Return all objects of a kind, of this file or, if it has none, of the others."""
        found = self._own.by_kind.get(kind) or (self._beside.by_kind.get(kind, ()) if self._beside else ())
        for each in found:
            self.atlas.take(each)
        return found

    def spot(self, node: Node | None) -> Spot | None:
        """Return where a node is written, None for one that nobody wrote."""
        return self.atlas.spot(node)

    def open(self, leaf: ScalarNode | Node | None, prefix: str = "") -> Node | None:
        """Read the YAML that a leaf holds, None where it holds none."""
        return self.atlas.open(leaf, prefix)
