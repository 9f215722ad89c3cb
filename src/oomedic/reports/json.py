"""A report for programs: the keys of data/schema, sizes as whole bytes, sentences beside their message ids."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from oomedic.arguments.given import Given
from oomedic.claim import Claim
from oomedic.figure import Figure
from oomedic.finding import Finding
from oomedic.memory.assessment import Assessment
from oomedic.memory.budget import Budget
from oomedic.memory.kv_plan import KvPlan
from oomedic.planning.plan import Offer, Plan
from oomedic.reports.phrases import Phrasebook
from oomedic.result import Report, Result
from oomedic.workloads.workload import Workload

if TYPE_CHECKING:
    from oomedic.live.rollout import Verdict


def render(report: Report, phrases: Phrasebook) -> str:
    """Return the report as one JSON object."""
    import json  # this module shares its name

    return json.dumps(as_tree(report, phrases), indent=2, ensure_ascii=False) + "\n"


def as_tree(report: Report, phrases: Phrasebook) -> dict[str, Any]:
    """Return the report as dicts and lists of plain values."""
    tree: dict[str, Any] = {
        "schema": report.versions.schema,
        "versions": {"tool": report.versions.tool, "catalogue": report.versions.catalogue},
        "results": [_result(result, phrases) for result in report.results],
    }
    if report.node_pools:
        tree["node_pools"] = [_plain(pool) for pool in report.node_pools]
    if report.variants:
        from oomedic.reports.instance_tree import as_variant  # only where a search was asked for

        tree["variants"] = [as_variant(variant, phrases) for variant in report.variants]
        tree["notes"] = [claim_tree(note, phrases) for note in report.notes]
    return tree


def _result(result: Result, phrases: Phrasebook) -> dict[str, Any]:
    kv = result.assessment.kv if result.assessment else None
    tree: dict[str, Any] = {
        "subject": {**result.subject._asdict(), "arguments": _arguments(result.arguments)},
        "outcome": result.outcome,
        "outcome_origin": result.outcome_origin,
        "phase": result.phase,
        "certainty": result.assessment.certainty if result.assessment else None,
        "budget": _budget(result.budget),
        "budget_missing": [claim_tree(claim, phrases) for claim in result.budget_missing],
        "kv_cache": _kv(kv),
        "diagnosis": _diagnosis(result, phrases),
        "plan": None if result.plan is None else _plan(result.plan, phrases),
        "workload": None if result.workload is None else workload(result.workload, phrases),
        "patch": None if result.patch is None else result.patch._asdict(),
        "notes": [claim_tree(claim, phrases) for claim in result.notes],
        "verdict": None if result.verdict is None else _verdict(result.verdict, phrases),
    }
    if result.answer is not None:
        from oomedic.reports.instance_tree import as_instance  # only where a search was asked for

        tree["instance"] = as_instance(result.answer, phrases)
    if result.placement is not None:
        from oomedic.reports.placement_tree import as_placement  # only where something says where the pod may run

        tree["placement"] = as_placement(result.placement, phrases)
    return tree


def _verdict(verdict: "Verdict", phrases: Phrasebook) -> dict[str, Any]:
    return {"state": verdict.state, "because": [claim_tree(claim, phrases) for claim in verdict.because]}


def _budget(budget: Budget | None) -> dict[str, Any] | None:
    if budget is None:
        return None
    return {
        "total": _figure(budget.total),
        "free_at_start": _figure(budget.free_at_start),
        "requested": _figure(budget.requested),
        "left": _figure(budget.left),
        "encoder": _figure(budget.encoder),
        "items": {
            item.name: None if item.figure is None else {**_known(item.figure), "inside": item.inside}
            for item in budget.items
        },
    }


def _figure(figure: Figure | None) -> dict[str, Any] | None:
    return None if figure is None else _known(figure)


def _known(figure: Figure) -> dict[str, Any]:
    return figure._asdict()


def _kv(kv: KvPlan | None) -> dict[str, Any] | None:
    if kv is None:
        return None
    return {
        "tokens": kv.tokens,
        "blocks": kv.blocks,
        "block_size": kv.block_size,
        "max_concurrency": round(kv.max_concurrency, 4),
        "needed_for_one_request": kv.needed,
        "estimated_max_model_len": kv.estimated_max_model_len,
    }


def _diagnosis(result: Result, phrases: Phrasebook) -> dict[str, Any] | None:
    if result.diagnosis is None:
        return None
    first_error = result.diagnosis.first_error
    return {
        "findings": [_finding(finding, phrases) for finding in result.diagnosis.findings],
        "skipped": [
            {"code": each.code, "because": claim_tree(each.because, phrases)} for each in result.diagnosis.skipped
        ],
        "missing": [
            {"what": phrases.say(each.what), "how": phrases.say(each.how)} for each in result.diagnosis.missing
        ],
        "first_error": None if first_error is None else claim_tree(first_error, phrases),
    }


def _finding(finding: Finding, phrases: Phrasebook) -> dict[str, Any]:
    return {
        "code": finding.code,
        "name": finding.name,
        "confidence": finding.confidence,
        "because": [claim_tree(claim, phrases) for claim in finding.because],
    }


def claim_tree(claim: Claim, phrases: Phrasebook) -> dict[str, Any]:
    """Return one statement: its message, its parameters, and what they say."""
    return {
        "message": claim.message,
        "parameters": dict(claim.parameters),
        "says": phrases.say(claim),
        "where": claim.where or None,
    }


def _plan(plan: Plan, phrases: Phrasebook) -> dict[str, Any]:
    best = offer_tree(plan.best, phrases) if plan.best else {"changes": [], "safety": None, "cost": [], "after": None}
    return {
        **best,
        "before": _budget(plan.before),
        "alternatives": [offer_tree(offer, phrases) for offer in plan.alternatives],
        "rejected": [{"remedy": each.remedy, "because": claim_tree(each.because, phrases)} for each in plan.rejected],
    }


def offer_tree(offer: Offer, phrases: Phrasebook) -> dict[str, Any]:
    """Return one offer of a plan."""
    tree: dict[str, Any] = {
        "changes": [change._asdict() for change in offer.changes],
        "safety": offer.safety,
        "cost": [claim_tree(claim, phrases) for claim in offer.cost],
        "step": None if offer.step is None else phrases.say(offer.step),
        "proof": offer.proof,
        "after": _after(offer.after),
    }
    if offer.moves:
        from oomedic.reports.placement_tree import as_move  # only where another machine is offered

        tree["moves"] = [as_move(move, phrases) for move in offer.moves]
    return tree


def _after(after: Assessment | None) -> dict[str, Any] | None:
    if after is None:
        return None
    return {
        **(_budget(after.budget) or {}),
        "outcome": after.outcome,
        "certainty": after.certainty,
        "kv_cache": _kv(after.kv),
    }


def workload(found: Workload, phrases: Phrasebook) -> dict[str, Any]:
    """Return what was understood of one engine in a manifest."""
    return {
        "unit": found.unit,
        "supported": found.supported,
        "because": None if found.because is None else phrases.say(found.because),
        "model": found.model,
        "served_name": found.served_name,
        "engine": found.engine,
        "engine_version": found.engine_version,
        "image": found.image,
        "server": found.server,
        "arguments": _arguments(found.arguments.given),
        "environment": dict(found.arguments.environment),
        "gpu_resource": found.gpu_resource,
        "gpus_per_pod": found.gpus_per_pod,
        "gpus_total": found.gpus_total,
        "group_size": found.group_size,
        "replicas": found.replicas,
        "replicas_range": _plain(found.replicas_range),
        "role": found.role,
        "port": found.port,
        "device_memory": _plain(found.device_memory),
        "instance_type": found.instance_type,
        "model_hint": found.model_hint,
        "quantization_hint": found.quantization_hint,
        "offload": dict(found.offload),
        "dead_variables": list(found.dead_variables),
        "node_selector": _plain(found.node_selector),
        "node_affinity": _plain(found.node_affinity),
        "host_memory_limit": _plain(found.host_memory_limit),
        "host_memory_request": _plain(found.host_memory_request),
        "shm": _plain(found.shm),
        "probes": _plain(found.probes),
        "strategy": _plain(found.strategy),
        "managed_by": [_plain(manager) for manager in found.managed_by],
        "owner": found.owner,
        "notes": [claim_tree(note, phrases) for note in found.notes],
        "edit_paths": {name: _plain(place) for name, place in found.edit_paths.items()},
    }


def _arguments(given: Mapping[str, Given]) -> dict[str, Any]:
    return {name: {"value": _plain(each.value), "where": each.where} for name, each in given.items()}


def _plain(value: Any) -> Any:
    """Turn named tuples, tuples and mappings into what JSON has."""
    if hasattr(value, "_asdict"):
        return {key: _plain(item) for key, item in value._asdict().items()}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    return value
