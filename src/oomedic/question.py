"""What is asked, and with which facts it is answered."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple, Protocol

from oomedic.arguments.given import NOTHING_GIVEN, EngineArgs
from oomedic.catalogue import Catalogue
from oomedic.gathering.gather import EngineOptions
from oomedic.models.checkpoint import Checkpoint

if TYPE_CHECKING:
    from oomedic.observed.reading import Beside


class Hub(Protocol):
    """Where the config of a model comes from that no catalogue knows."""

    trouble: str
    """Why the last model could not be had, as the slug of an error."""

    def checkpoint(self, model: str, /) -> Checkpoint | None:
        """Return the model, None when it cannot be had: no network, not found, no access."""


class Log(NamedTuple):
    """One log as it came: its name, and its bytes in pieces of any size."""

    name: str
    chunks: Iterable[bytes]


class Manifest(NamedTuple):
    """One manifest file: its path and its text."""

    path: str
    text: str


class Question(NamedTuple):
    """What is asked: logs, manifests, a command line, options, and a model whose config the user gave.

    ``beside`` are files that are neither: pods, events, nvidia-smi. ``before`` is the same for how it still worked.
    ``remedies`` are changes that are asked for by name.
    """

    logs: tuple[Log, ...] = ()
    manifests: tuple[Manifest, ...] = ()
    command: EngineArgs = NOTHING_GIVEN
    options: EngineOptions = EngineOptions()
    checkpoint: Checkpoint | None = None
    beside: "tuple[Beside, ...]" = ()
    before: "Question | None" = None
    remedies: tuple[str, ...] = ()


class Library(NamedTuple):
    """The facts, and what can be had beyond them."""

    catalogue: Catalogue
    tool: str
    hub: Hub | None = None
