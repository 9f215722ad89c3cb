"""What a shape makes of one engine: what is known of it, and what an edit needs beside that."""

from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

from oomedic.kube.objects import KubeObject
from oomedic.workloads.command import CommandLine
from oomedic.workloads.home import Home
from oomedic.workloads.source import Source
from oomedic.workloads.workload import Workload
from oomedic.yamldoc.nodes import Node, ScalarNode


class Count(NamedTuple):
    """A leaf that holds a number of devices: as a whole, or between ``before`` and ``after``."""

    leaf: ScalarNode
    before: str = ""
    after: str = ""


class Reading(NamedTuple):
    """One engine.

    Attributes:
        workload: what is known of it.
        command: its command line, with the place of each word.
        home: where a further argument goes, None for behind the last word.
        counts: where the number of its devices is written.
        source: what it was read from.
        found: the object; ``pod`` its pod spec and ``container`` the engine's, as they will run: written so, or put
            together from what a chart or a controller reads.
    """

    workload: Workload
    command: CommandLine
    home: Home | None
    counts: tuple[Count, ...]
    source: Source
    found: KubeObject | None = None
    pod: Node | None = None
    container: Node | None = None

    def having(self, **facts: Any) -> "Reading":
        """Return the same reading with further facts of its workload."""
        return self._replace(workload=self.workload._replace(**facts))


class Shape(Protocol):
    """A module of oomedic.shapes: one way in which engines are written down."""

    def recognises(self, found: KubeObject) -> bool:
        """Tell whether this shape reads such objects."""
        ...

    def read(self, found: KubeObject, source: Source) -> Iterable[Reading]:
        """Return the engines of an object."""
        ...
