"""All that is known about one crash, how it is known, and what is missing."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from oomedic.arguments.given import NOTHING_GIVEN, EngineArgs
from oomedic.engine.config import EngineConfig, ModelFacts
from oomedic.engine.other_card import on_card
from oomedic.errors import OomedicError
from oomedic.figure import Figure
from oomedic.gpu import Gpu
from oomedic.logs.memory_error import OOM_SIGNATURES, OutOfMemory, out_of_memory
from oomedic.logs.phases import furthest, phase_at
from oomedic.logs.signatures import Event
from oomedic.memory.assessment import Assessment, assess
from oomedic.memory.known import NOTHING_KNOWN, Known
from oomedic.models.checkpoint import Checkpoint
from oomedic.units import Bytes
from oomedic.version import Version
from oomedic.workloads.workload import Workload

if TYPE_CHECKING:
    from oomedic.claim import Claim
    from oomedic.observed.facts import ContainerState, Observed


class Changed(NamedTuple):
    """One difference: an argument's name, ``model``, ``gpu`` or ``vllm``, with both values.

    ``broke`` when the engine starts without it. ``cost`` is what it takes at the step where the engine dies, None where
    that cannot be computed.
    """

    name: str
    before: Any
    after: Any
    broke: bool = False
    cost: Bytes | None = None


class Subject(NamedTuple):
    """What a result is about; None where it does not apply.

    ``life`` counts the starts within one log from 1; ``log`` names the log where there are several.
    """

    unit: str | None = None
    kind: str | None = None
    namespace: str | None = None
    name: str | None = None
    container: str | None = None
    life: int | None = None
    gpu: str | None = None
    vllm: str | None = None
    instance: str | None = None
    log: str | None = None


class Evidence(NamedTuple):
    """One life of one container, or one configuration that has not run yet.

    ``changes`` are the differences to how it worked, where that was told; ``remarks`` what stands beside the diagnosis.

    ``requested_model`` is the id or path that was asked for; ``nearest_models`` are known ids close to it when it is
    not known itself. ``refused`` is why the arithmetic could not be done. ``cards`` are GPUs that print the total that
    the log shows, where the GPU that was named does not. ``expected_weights`` are those of the checkpoint as we know
    it, where the run shows that it loaded something else. ``versions`` are the first and the last era that remain
    possible, where the release is not known. ``others`` are the same evidence under the other eras that remain.
    ``logged`` when there is a log of it. ``arguments`` are those that were given or printed. ``observed`` is what was
    seen beside the log, ``container`` the state of the engine's container among it. ``facts`` are what defaults depend
    on in the model.
    """

    subject: Subject
    events: tuple[Event, ...] = ()
    config: EngineConfig | None = None
    checkpoint: Checkpoint | None = None
    gpu: Gpu | None = None
    gpu_count: int | None = None
    known: Known = NOTHING_KNOWN
    assessment: Assessment | None = None
    refused: OomedicError | None = None
    workload: Workload | None = None
    requested_model: str | None = None
    nearest_models: tuple[str, ...] = ()
    cards: tuple[Gpu, ...] = ()
    version_known: bool = False
    versions: tuple[Version, Version] | None = None
    expected_weights: Figure | None = None
    changes: tuple[Changed, ...] = ()
    remarks: "tuple[Claim, ...]" = ()
    arguments: EngineArgs = NOTHING_GIVEN
    others: "tuple[Evidence, ...]" = ()
    logged: bool = False
    observed: "Observed | None" = None
    container: "ContainerState | None" = None
    facts: ModelFacts | None = None

    def all(self, *signatures: str) -> Iterator[Event]:
        """Return the events of these signatures, in the order of the log."""
        return (event for event in self.events if event.signature in signatures)

    def first(self, *signatures: str) -> Event | None:
        """Return the first event of these signatures."""
        return next(self.all(*signatures), None)

    def phase_of(self, event: Event) -> str | None:
        """Return the phase in which an event was printed, None when the log does not tell."""
        return phase_at(event, self.events)

    def phase_reached(self) -> str | None:
        """Return the furthest phase that the log reached."""
        return furthest(self.events)

    def out_of_memory(self) -> OutOfMemory | None:
        """Return torch's first out-of-memory message."""
        event = self.first(*OOM_SIGNATURES)
        return None if event is None else out_of_memory(event)

    def figure(self, signature: str, field: str) -> Figure | None:
        """Return a printed figure, None when no such line or figure is there."""
        event = self.first(signature)
        value = event.fields.get(field) if event else None
        return value if isinstance(value, Figure) else None

    def number(self, signature: str, field: str) -> int | None:
        """Return a printed whole number, None when no such line or number is there."""
        event = self.first(signature)
        value = event.fields.get(field) if event else None
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def setting(self, name: str) -> object:
        """Return a setting of the engine, None when the configuration is not known."""
        return self.config.value(name) if self.config else None

    def assess(self, config: EngineConfig, checkpoint: Checkpoint | None = None, gpu: Gpu | None = None) -> Assessment:
        """Assess a changed configuration with all that is known.

        Another checkpoint or card keeps what the engine printed only where that does not depend on them; another card
        brings its own defaults.
        """
        if checkpoint is None and gpu is None:
            return assess(self.checkpoint, config, self.gpu, self.known)
        if gpu is not None and self.facts is not None:
            config = on_card(config, self.arguments.environment, self.facts, gpu)
        held = Known(held_by_others=self.known.held_by_others)
        if gpu is None:
            held = held._replace(total=self.known.total, free_at_start=self.known.free_at_start)
        return assess(checkpoint or self.checkpoint, config, gpu or self.gpu, held)
