"""Choose the remedies whose re-computed budget fits: the smallest change first, never in the wrong direction.

Every proposal is assessed anew. What would not fit is not offered but listed with what it lacks. A proposal that
cannot be assessed, because model or card are not known, is offered after all others and says so (its ``after`` is
unknown).
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from oomedic.cause import Cause
from oomedic.claim import Claim, claim
from oomedic.errors import OomedicError
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.instance import Instance
from oomedic.memory.assessment import Assessment, calibrate
from oomedic.memory.budget import Budget
from oomedic.planning.carried import still_missing
from oomedic.planning.releases import assessed, in_every_release
from oomedic.remedy import SAFETIES, Catalogued, Change, Proposal, Remedy, Safety
from oomedic.symptoms.exhaustion import exhaustion, shortage
from oomedic.units import Bytes

if TYPE_CHECKING:
    from oomedic.placement.move import Move

_SEVERAL: Final[Mapping[str, int]] = {"FIX201": 3, "FIX303": 4, "FIX110": 2}
"""Remedies of which more than one offer is useful: other checkpoints, other cards."""
_TRIES: Final[Mapping[str, int]] = {"FIX303": 40}
_MOST_TRIES: Final = 8
_MOST_GUESSES: Final = 3
_WHOLE: Final = frozenset({"FIX101", "FIX303"})
"""Remedies that are not helped by a shorter max_model_len: it is one, or another card has room for the length."""
_SHORTER: Final = "FIX101"
_SHORTEST: Final = 1024
"""A shorter max_model_len is not offered as a companion of another change."""


class Offer(NamedTuple):
    """Changes that go together. ``after`` is the re-computed assessment, None where it could not be computed.

    ``proof`` is a printed line by which the engine itself says that it fits, or a revision that is known to have run.
    ``instance`` is the machine that it needs, and ``moves`` are the ways there, the one that touches least first.
    """

    remedy: str
    changes: tuple[Change, ...]
    safety: Safety
    cost: tuple[Claim, ...]
    after: Assessment | None = None
    proof: str | None = None
    step: Claim | None = None
    instance: Instance | None = None
    moves: "tuple[Move, ...]" = ()

    @property
    def verified(self) -> bool:
        """Tell whether arithmetic or the engine's own words show that it fits."""
        return self.after is not None or self.proof is not None


class Rejected(NamedTuple):
    """A remedy that is not offered, and why."""

    remedy: str
    because: Claim


class Plan(NamedTuple):
    """``best`` is None when nothing helps. ``before`` is the budget as it is."""

    best: Offer | None
    alternatives: tuple[Offer, ...]
    rejected: tuple[Rejected, ...]
    before: Budget | None


def wished_plan(evidence: Evidence, remedies: Iterable[Remedy], catalogue: Catalogued) -> Plan:
    """Propose changes that are asked for by name though no cause calls for them; each is re-computed all the same."""
    asked = Finding("", "", "possible", ())
    found = [each for remedy in remedies for each in _offers(remedy, evidence, asked, catalogue)]
    offers = [each for each in found if isinstance(each, Offer)]
    rejected = tuple(each for each in found if isinstance(each, Rejected))
    before = evidence.assessment.budget if evidence.assessment else None
    return Plan(offers[0] if offers else None, tuple(offers[1:]), rejected, before)


def make_plan(
    evidence: Evidence, finding: Finding, cause: Cause, remedies: Iterable[Remedy], catalogue: Catalogued
) -> Plan:
    """Propose, re-compute, choose."""
    evidence = settled(evidence, finding)._replace(others=tuple(settled(each, finding) for each in evidence.others))
    known = {remedy.code: remedy for remedy in remedies}
    offers: list[Offer] = []
    rejected: list[Rejected] = []
    for code in cause.helps:
        if code in known:
            found = list(_offers(known[code], evidence, finding, catalogue))
            offers += [each for each in found if isinstance(each, Offer)]
            if found and not any(isinstance(each, Offer) for each in found):
                rejected += [each for each in found if isinstance(each, Rejected)][:1]
    offers, pointless = _with_an_effect(offers)
    rejected += pointless
    rejected += [Rejected(code, claim("plan.worsens", code=finding.code)) for code in cause.worsens]
    rejected += [Rejected(code, claim("plan.useless", code=finding.code)) for code in cause.useless]
    ranked = _without_guesses(sorted(offers, key=lambda offer: _rank(offer, cause)))
    best = ranked[0] if ranked else None
    before = evidence.assessment.budget if evidence.assessment else None
    return Plan(best, tuple(ranked[1:]), tuple(rejected), before)


def best_offer(
    evidence: Evidence, finding: Finding, cause: Cause, remedies: Iterable[Remedy], catalogue: Catalogued
) -> Offer | None:
    """Return what ``make_plan`` would offer first, without computing what can only come after it."""
    evidence = settled(evidence, finding)._replace(others=tuple(settled(each, finding) for each in evidence.others))
    asked = sorted(
        (remedy for remedy in remedies if remedy.code in cause.helps),
        key=lambda remedy: (SAFETIES.index(remedy.safety), cause.helps.index(remedy.code)),
    )
    offers: list[Offer] = []
    for number, remedy in enumerate(asked):
        found = _offers(remedy, evidence, finding, catalogue, wanted=1)
        offers += [each for each in found if isinstance(each, Offer)]
        best = next(iter(_ranked(offers, cause)), None)
        decided = best is not None and best.verified and SAFETIES.index(best.safety) <= SAFETIES.index(remedy.safety)
        if decided and not any(later.code == _SHORTER for later in asked[number + 1 :]):
            return best
    return next(iter(_ranked(offers, cause)), None)


def _ranked(offers: list[Offer], cause: Cause) -> list[Offer]:
    return _without_guesses(sorted(_with_an_effect(offers)[0], key=lambda offer: _rank(offer, cause)))


def _with_an_effect(offers: list[Offer]) -> tuple[list[Offer], list[Rejected]]:
    """Part the offers from those that owe all to the shorter requests that go with them, and allow none longer."""
    alone = max((_length(offer) or 0 for offer in offers if offer.remedy == _SHORTER), default=0)
    pointless = [offer for offer in offers if offer.remedy != _SHORTER and 0 < (_length(offer) or 0) <= alone]
    reasons = [Rejected(offer.remedy, claim("plan.no-longer-requests", alone=alone)) for offer in pointless]
    return [offer for offer in offers if offer not in pointless], reasons


def _length(offer: Offer) -> int | None:
    """Return the max_model_len that an offer allows, None where it leaves it as it is."""
    return next((change.after for change in offer.changes if change.target == "max_model_len"), None)


def _without_guesses(ranked: list[Offer]) -> list[Offer]:
    """Keep only the first few of the offers that could not be assessed: they come in the cause's own order."""
    guesses = [offer for offer in ranked if not offer.verified and not _is_manual(offer)]
    dropped = guesses[_MOST_GUESSES:]
    return [offer for offer in ranked if offer not in dropped]


def _is_manual(offer: Offer) -> bool:
    return all(change.target == "manual" for change in offer.changes)


def settled(evidence: Evidence, finding: Finding) -> Evidence:
    """Return the evidence with what the run showed taken into the arithmetic: where it died, and what it lacked."""
    if evidence.known.baseline is None or finding.phase is None or finding.line is None:
        return evidence
    asked = "encoder" if finding.code == "OOM302" else None
    known = evidence.known._replace(died=finding.phase, missing=_missing(evidence, finding), asked=asked)
    config = evidence.config
    if evidence.assessment is None or config is None:
        return evidence._replace(known=known)
    evidence = evidence._replace(known=calibrate(evidence.checkpoint, evidence.gpu, known))
    return evidence._replace(assessment=evidence.assess(config))


def _missing(evidence: Evidence, finding: Finding) -> Bytes | None:
    """Return what was missing where the run died: printed, or half of what was asked for there."""
    if finding.phase == "kv_check":
        return None  # its figures are printed themselves
    found = exhaustion(evidence)
    printed = shortage(found.message) if found else None
    if printed is not None:
        return max(1, printed)
    part = {"graph_capture": "cuda_graphs", "profile_run": "activation", "weights_load": "weights"}.get(
        finding.phase or ""
    )
    budget = evidence.assessment.budget if evidence.assessment else None
    figure = next((item.figure for item in budget.items if item.name == part), None) if budget else None
    if finding.phase == "sampler_warmup" and budget is not None:
        figure = budget.item("activation")
    return figure.value // 2 if figure is not None else None


def _offers(
    remedy: Remedy, evidence: Evidence, finding: Finding, catalogue: Catalogued, *, wanted: int | None = None
) -> Iterator[Offer | Rejected]:
    """Yield the first proposals that fit, then the reason why the last one that was tried does not."""
    wanted = wanted or (_SEVERAL.get(remedy.code, 1) if _about_memory(finding.code) else 1)
    proposals = remedy.propose(evidence, finding, catalogue)
    reason: Rejected | None = None
    for proposal in islice(proposals, _TRIES.get(remedy.code, _MOST_TRIES)):
        tried = _tried(remedy, proposal, evidence)
        if tried is None:
            continue
        if isinstance(tried, Offer):
            yield tried
            wanted -= 1
            if wanted == 0:
                return
        else:
            reason = tried
    if reason is not None:
        yield reason


def _tried(remedy: Remedy, proposal: Proposal, evidence: Evidence) -> Offer | Rejected | None:
    """Re-compute one proposal; where it only leaves the cache short, a shorter max_model_len goes with it.

    Another card or checkpoint that cannot be assessed is no offer at all.
    """
    offer = Offer(
        remedy.code,
        proposal.changes,
        proposal.safety or remedy.safety,
        (proposal.cost,),
        None,
        proposal.proof,
        proposal.step,
        proposal.instance,
    )
    if evidence.config is None or evidence.assessment is None or _changes_nothing(proposal):
        return offer
    try:
        after = assessed(proposal.changes, proposal, evidence)
        if after.phase == "kv_check" and after.kv is not None and remedy.code not in _WHOLE:
            offer, after = _with_shorter_requests(offer, proposal, evidence, after)
    except OomedicError:
        return Rejected(remedy.code, claim("plan.cannot-be-split", **_shown(proposal)))
    if after.outcome == "crashes" and proposal.proof is None:
        return Rejected(remedy.code, _shortfall(after, proposal))
    lacking = still_missing(after, evidence) if proposal.gpu or proposal.checkpoint else 0
    if lacking:
        return Rejected(remedy.code, _lack(lacking, evidence.known.died, proposal))
    if after.outcome == "starts":
        spread = in_every_release(after, offer.changes, proposal, evidence)
        cost = offer.cost if spread.fails is None else (*offer.cost, spread.fails)
        return offer._replace(after=spread.after, cost=cost)
    return None if proposal.gpu or proposal.checkpoint else offer


def _with_shorter_requests(
    offer: Offer, proposal: Proposal, evidence: Evidence, after: Assessment
) -> tuple[Offer, Assessment]:
    length = after.kv.estimated_max_model_len // 256 * 256 if after.kv else 0
    before = evidence.setting("max_model_len")
    if length < _SHORTEST or (isinstance(before, int) and length >= before):
        return offer, after
    changes = (*offer.changes, Change("max_model_len", before, length, "FIX101"))
    cost = (*offer.cost, claim("FIX101.cost", after=length))
    return offer._replace(changes=changes, cost=cost), assessed(changes, proposal, evidence)


def _changes_nothing(proposal: Proposal) -> bool:
    """Tell whether no setting changes: what a person must do cannot be computed."""
    if proposal.checkpoint is not None or proposal.gpu is not None:
        return False
    return all(change.target == "manual" or change.target.startswith("env.") for change in proposal.changes)


def _shortfall(after: Assessment, proposal: Proposal) -> Claim:
    return _lack(-after.failed.margin.value if after.failed else None, after.phase, proposal)


def _lack(missing: Bytes | None, phase: str | None, proposal: Proposal) -> Claim:
    if proposal.step is not None:
        return claim("plan.too-little-by-hand", missing=missing, phase=phase)
    return claim("plan.too-little", missing=missing, phase=phase, **_shown(proposal))


def _shown(proposal: Proposal) -> dict[str, str]:
    change = proposal.changes[0]
    return {"target": change.target, "after": str(change.after)}


def _about_memory(code: str) -> bool:
    return code.startswith(("OOM", "VER"))


def _rank(offer: Offer, cause: Cause) -> tuple[bool, int, int]:
    """Sort by proof, then by what it costs, then in the cause's own order.

    Where no GPU memory is missing, a budget that fits proves nothing.
    """
    unproven = _about_memory(cause.code) and not offer.verified
    return unproven, SAFETIES.index(offer.safety), cause.helps.index(offer.remedy)
