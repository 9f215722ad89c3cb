"""What a remedy is: a module whose docstring is its page and whose ``propose`` names changes, weakest first."""

from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple, Protocol

from oomedic.claim import Claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.gpu import Gpu
from oomedic.instance import Instance
from oomedic.models.checkpoint import Checkpoint

Safety = Literal["safe", "trade-off", "unsafe", "manual"]
SAFETIES: tuple[Safety, ...] = ("safe", "trade-off", "unsafe", "manual")
"""From costing nothing to needing a person."""


class Change(NamedTuple):
    """One edit: ``target`` is an engine argument's snake_case name, or a manifest path."""

    target: str
    before: Any
    after: Any
    remedy: str


class Proposal(NamedTuple):
    """Changes that go together, and what they cost.

    ``checkpoint`` and ``gpu`` where the proposal is another one. ``proof`` is a printed line that shows that it fits,
    where the engine itself said so. ``step`` is what a person must do, where no argument changes. ``instance`` is the
    machine that it needs.
    """

    changes: tuple[Change, ...]
    cost: Claim
    checkpoint: Checkpoint | None = None
    gpu: Gpu | None = None
    proof: str | None = None
    step: Claim | None = None
    safety: Safety | None = None
    instance: Instance | None = None


class Catalogued(Protocol):
    """What remedies may look up: other checkpoints of a model, other instance types."""

    def variants_of(self, checkpoint: Checkpoint) -> tuple[Checkpoint, ...]:
        """Return quantised checkpoints of the same model, smallest loss of quality first."""

    def instances(self) -> tuple[Instance, ...]:
        """Return the instance types that have cards for CUDA."""


class Proposer(Protocol):
    """Names changes for a finding; nothing when the remedy does not apply here."""

    def __call__(self, evidence: Evidence, finding: Finding, catalogue: Catalogued, /) -> Iterator[Proposal]:
        """Yield proposals from the smallest change to the largest; the plan takes the first that fits."""


class Remedy(NamedTuple):
    """One remedy, bound to its code."""

    code: str
    name: str
    safety: Safety
    propose: Proposer


def remedy(code: str, name: str, *, safety: Safety) -> Callable[[Proposer], Remedy]:
    """Bind a code, a name and a safety to a ``propose`` function (see ``Remedy``)."""

    def bind(propose: Proposer) -> Remedy:
        return Remedy(code, name, safety, propose)

    return bind


def set_argument(evidence: Evidence, remedy_code: str, **values: Any) -> tuple[Change, ...]:
    """Make the changes that set engine arguments."""
    return tuple(Change(name, evidence.setting(name), value, remedy_code) for name, value in values.items())
