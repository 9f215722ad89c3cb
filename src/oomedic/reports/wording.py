"""What text and Markdown say alike: sentences chosen for a result, without layout."""

from collections.abc import Iterator, Mapping, Sequence

from oomedic.claim import Claim
from oomedic.finding import Finding
from oomedic.memory.assessment import Assessment
from oomedic.memory.budget import Budget
from oomedic.planning.plan import Offer, Rejected
from oomedic.remedy import Change
from oomedic.reports.phrases import Phrasebook
from oomedic.result import Result


def subject(result: Result, phrases: Phrasebook) -> str:
    """Name what a result is about, to tell several apart."""
    about = result.subject
    parts = [about.unit, about.log, about.gpu, f"vLLM {about.vllm}" if about.vllm else None]
    if about.life is not None:
        parts.append(phrases.text("label.lives", number=about.life))
    return " · ".join(part for part in parts if part) or "–"


def without_finding(result: Result) -> Iterator[Claim]:
    """Say what is known where no cause stands."""
    if result.diagnosis is None or _is_computed(result):
        yield _forecast(result)
        yield from _refusals(result)
        return
    if result.outcome == "starts":
        yield Claim("diagnosis.starts", {})
        return
    error = result.diagnosis.first_error
    if error is None or error.message == "diagnosis.first-error":
        yield Claim("diagnosis.not-recognised" if result.outcome == "crashes" else "diagnosis.no-error", {})
    if error is not None:
        yield error
    if result.phase is not None:
        yield Claim("diagnosis.reached", {"phase": result.phase})


def _forecast(result: Result) -> Claim:
    if result.outcome == "crashes":
        key = "crashes-somewhere" if result.phase is None else "computed-crashes"
        return Claim(f"diagnosis.{key}", {"phase": result.phase})
    return Claim("diagnosis.computed-starts" if result.outcome == "starts" else "diagnosis.unknown", {})


def _refusals(result: Result) -> tuple[Claim, ...]:
    """Return why the engine refuses the configuration itself: that is said first, not below the budget."""
    if result.outcome_origin != "computed" or result.phase != "config_validation":
        return ()
    return tuple(claim for claim in result.budget_missing if claim.message.startswith("error."))


def _is_computed(result: Result) -> bool:
    """Tell whether our arithmetic answers, for no log does."""
    logged = result.diagnosis is not None and result.diagnosis.logged
    return result.outcome_origin == "computed" and (result.outcome != "unknown" or not logged)


def version(result: Result) -> str | None:
    """Name the release, or the releases, that the figures are of."""
    if result.assessment is None:
        return None
    if result.versions is not None:
        return f"vLLM {result.versions[0]} … {result.versions[1]}"
    return f"vLLM {result.subject.vllm or result.assessment.config.rules.version}"


def card_and_version(result: Result) -> str:
    """Name what a budget is of."""
    name = ", ".join(part for part in (result.subject.gpu, version(result)) if part)
    return f" ({name})" if name else ""


def beside_the_budget(result: Result) -> Iterator[Claim]:
    """Say what lies outside the request, what the cache holds or lacks, and what is not known."""
    outside = [item for item in (result.budget.items if result.budget else ()) if not item.inside]
    if any(item.figure is not None and item.figure.value for item in outside):
        yield Claim("label.outside", {})
    kv = result.assessment.kv if result.assessment else None
    length = result.assessment.config.max_model_len if result.assessment else None
    if kv is not None and kv.blocks and kv.fits:
        sizes = {"tokens": kv.tokens, "concurrency": kv.max_concurrency, "max_model_len": length}
        yield Claim("label.kv-holds", sizes)
    elif kv is not None and kv.needed:
        sizes = {"max_model_len": length, "needed": kv.needed, "longest": kv.estimated_max_model_len}
        yield Claim("label.kv-short" if kv.estimated_max_model_len else "label.kv-none", sizes)
    elif result.budget is not None and result.budget.left is not None and _only_weights(result.budget):
        yield Claim("label.left-for-kv", {"left": result.budget.left.value})
    yield from (claim for claim in result.budget_missing if claim not in _refusals(result))


def _only_weights(budget: Budget) -> bool:
    """Tell whether the weights are all that is known of what the engine needs."""
    return all(item.name == "weights" for item in budget.items if item.figure is not None)


def evidence(finding: Finding) -> tuple[Claim, ...]:
    """Return what stands below the headline: the headline itself only where it alone points at a line."""
    return finding.because[1:] or tuple(each for each in finding.because if each.where)


def changes(offer: Offer, phrases: Phrasebook) -> str:
    """Say what changes, or what a person must do."""
    if offer.step is not None:
        return phrases.say(offer.step)
    return ", ".join(_change(change, phrases) for change in offer.changes if change.target != "manual")


def _change(change: Change, phrases: Phrasebook) -> str:
    after = f"{change.target}: {change.after}"
    return after if change.before is None else f"{after} ({phrases.text('label.was', before=str(change.before))})"


def proof(offer: Offer, phrases: Phrasebook) -> str:
    """Say why an offer is believed to fit: the engine's own words before our arithmetic; nothing for a manual step."""
    summary = f": {_summary(offer.after, phrases)}" if offer.after is not None else ""
    if offer.proof is not None:
        by = "plan.ran" if offer.proof.startswith("revision ") else "plan.proven"
        return f"{phrases.text(by)} ({offer.proof}){summary}"
    if offer.after is not None and offer.after.outcome == "starts":
        key = {"certain": "plan.fits", "likely": "plan.likely-fits"}.get(offer.after.certainty, "plan.edge")
        return f"{phrases.text(key)}{summary}"
    if all(change.target == "manual" for change in offer.changes):
        return ""
    return phrases.text("plan.not-checked")


def _summary(after: Assessment, phrases: Phrasebook) -> str:
    parts = [
        f"{phrases.text(f'label.{item.name}')} {phrases.size(item.figure.value)}"
        for item in after.budget.items
        if item.figure is not None
    ]
    if after.kv is not None and after.kv.tokens:
        parts.append(phrases.text("label.tokens", tokens=after.kv.tokens))
    return ", ".join(parts)


def grouped(rejected: Sequence[Rejected], phrases: Phrasebook, names: Mapping[str, str]) -> dict[str, list[str]]:
    """Put remedies together that are not offered for the same reason; a cause may have a sentence of its own."""
    groups: dict[str, list[str]] = {}
    for each in rejected:
        own = f"{each.because.parameters.get('code')}.not-{each.remedy}"
        text = phrases.text(own) if phrases.has(own) else phrases.say(each.because)
        groups.setdefault(text, []).append(f"{each.remedy} {names.get(each.remedy, '')}".strip())
    return groups
