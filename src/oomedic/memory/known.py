"""What is known from outside the formulas: printed by an engine that ran, or given by the user."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from oomedic.engine.config import EngineConfig
from oomedic.figure import Figure
from oomedic.memory.budget import ItemName
from oomedic.units import Bytes


class Check(NamedTuple):
    """One step of a start that can fail: ``margin`` is what is left, negative when it dies; ``what`` it is for."""

    phase: str
    margin: Figure
    what: str


class PrintedCache(NamedTuple):
    """What a refused run printed about its KV cache, where the model's own layout is not known.

    ``tokens`` that it can hold (V0), or ``needed`` bytes for one request of ``length`` tokens (V1).
    """

    length: int
    tokens: int | None = None
    needed: Bytes | None = None
    longest: int | None = None


class Known(NamedTuple):
    """Figures and facts about a run.

    ``baseline`` is the configuration of the run that printed them. ``weights`` is per rank. ``pool`` is the memory
    that the engine said it has for its KV cache, ``tokens`` how many that holds, ``cache`` what it said about one
    request. ``died`` is the phase in which the run died, and ``missing`` what it lacked there: earlier phases were
    passed, whatever the formulas say. ``asked`` names the part that asked for it there: "encoder", or None.
    ``empty`` when it said that nothing is left for its cache, without saying how much is missing.
    ``other_weights`` when the run shows that what it loaded is not the checkpoint as we know it, so that the size of
    its weights is unknown. ``corrections`` (by how much the formulas missed each printed part) and ``before`` (the
    steps of that run by the formulas) are worked out by ``assessment.calibrate``.
    """

    total: Figure | None = None
    free_at_start: Figure | None = None
    held_by_others: Figure | None = None
    weights: Figure | None = None
    non_torch: Figure | None = None
    activation: Figure | None = None
    cuda_graphs: Figure | None = None
    pool: Figure | None = None
    cache: PrintedCache | None = None
    tokens: int | None = None
    baseline: EngineConfig | None = None
    died: str | None = None
    missing: Bytes | None = None
    asked: str | None = None
    empty: bool = False
    other_weights: bool = False
    corrections: Mapping[ItemName, Bytes] = {}
    before: tuple[Check, ...] = ()

    def part(self, name: ItemName) -> Figure | None:
        """Return the known figure of one part."""
        figure = getattr(self, name)
        return figure if isinstance(figure, Figure) else None

    def is_baseline(self, config: EngineConfig) -> bool:
        """Tell whether a configuration is the one that printed the figures."""
        return self.baseline is None or config is self.baseline

    def changed(self, config: EngineConfig) -> frozenset[str]:
        """Return the names of the settings in which a configuration differs from the one that ran."""
        before = self.baseline.settings if self.baseline else {}
        return frozenset(name for name, setting in config.settings.items() if setting.value != _value(before, name))


NOTHING_KNOWN: Final = Known()


def _value(settings: Mapping[str, object], name: str) -> object:
    setting = settings.get(name)
    return getattr(setting, "value", None)
