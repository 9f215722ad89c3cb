"""What a question about one engine comes to: everything that a report shows."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from oomedic.arguments.given import Given
from oomedic.claim import Claim
from oomedic.evidence import Subject
from oomedic.finding import Diagnosis
from oomedic.memory.assessment import Assessment, Outcome
from oomedic.memory.budget import Budget
from oomedic.planning.plan import Plan
from oomedic.version import Version
from oomedic.workloads.workload import Workload

if TYPE_CHECKING:
    from oomedic.live.rollout import Verdict
    from oomedic.placement.node_pool import NodePool
    from oomedic.placement.placing import Placement
    from oomedic.search.answer import Answer
    from oomedic.search.variants import Variant

OutcomeOrigin = Literal["printed", "computed"]


class Patch(NamedTuple):
    """A change of a manifest, as text."""

    format: Literal["diff", "jsonpatch"]
    text: str


class Result(NamedTuple):
    """One subject. What does not apply is None.

    ``budget_missing`` tells why there is no budget. ``notes`` are remarks on how the figures were reached.
    ``versions`` are the first and the last era that the figures cover, where the release is not known. ``answer`` is an
    instance type that a search found, ``placement`` where the pod could land. ``verdict`` is how the rollout of a
    change ended.
    """

    subject: Subject
    outcome: Outcome
    outcome_origin: OutcomeOrigin
    phase: str | None
    assessment: Assessment | None = None
    budget_missing: tuple[Claim, ...] = ()
    notes: tuple[Claim, ...] = ()
    diagnosis: Diagnosis | None = None
    plan: Plan | None = None
    workload: Workload | None = None
    patch: Patch | None = None
    arguments: Mapping[str, Given] = {}
    versions: tuple[Version, Version] | None = None
    answer: "Answer | None" = None
    placement: "Placement | None" = None
    verdict: "Verdict | None" = None

    @property
    def budget(self) -> Budget | None:
        """Return the budget, None when it cannot be computed."""
        return self.assessment.budget if self.assessment else None


class Versions(NamedTuple):
    """Which JSON, which program, which facts."""

    schema: str
    tool: str
    catalogue: str


class Report(NamedTuple):
    """All results, the most telling first.

    ``variants`` are the ways to have a model, and ``notes`` remarks on all results, where a search was asked for.
    ``node_pools`` are those of the manifests that were inspected.
    """

    results: tuple[Result, ...]
    versions: Versions
    variants: "tuple[Variant, ...]" = ()
    notes: tuple[Claim, ...] = ()
    node_pools: "tuple[NodePool, ...]" = ()
