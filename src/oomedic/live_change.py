"""From a plan and a live object to the one request that changes it, with the way back recorded in the object itself."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from oomedic.errors import InputError, UsageError
from oomedic.kube.json_patch import Operation, escaped, operations
from oomedic.kube.ownership import Manager, Reference, Tree, managers, reference
from oomedic.live.rollout import needs_room
from oomedic.live_diagnosis import manifest_of
from oomedic.patches.patching import diff_of, edited_text
from oomedic.planning.plan import Offer, Plan
from oomedic.remedy import Change
from oomedic.workloads.workload import Workload

ANNOTATION: Final = "oomedic/change"
"""On the changed object: what was changed, by which remedies, and the operations that take it back."""
_STRATEGY: Final = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}


class LiveChange(NamedTuple):
    """One change of one object.

    Attributes:
        target: the object.
        operations: of its spec, each behind a test of the old value.
        undo: what takes them back.
        changes: what the plan calls them, a changed rollout strategy included.
        diff: for people.
        kept_by: tools outside of the cluster that would undo it.
        created: objects that must be there first, such as a node pool.
    """

    target: Reference
    operations: tuple[Operation, ...]
    undo: tuple[Operation, ...]
    changes: tuple[Change, ...]
    diff: str
    kept_by: tuple[Manager, ...] = ()
    created: tuple[Tree, ...] = ()


def chosen(plan: Plan | None, remedies: Iterable[str]) -> Offer:
    """Return the offer to apply: the best, or the first that consists of the remedies that were asked for.

    Raises:
        UsageError: ``nothing-to-apply`` or ``remedy-not-offered``.
    """
    if plan is None or plan.best is None:
        raise UsageError("nothing-to-apply")
    offers = (plan.best, *plan.alternatives)
    wanted = tuple(remedies)
    if not wanted:
        return plan.best
    for offer in offers:
        if offer.remedy in wanted and set(wanted) <= {offer.remedy, *(change.remedy for change in offer.changes)}:
            return offer
    raise UsageError(
        "remedy-not-offered", remedy=" + ".join(wanted), offered=tuple(dict.fromkeys(each.remedy for each in offers))
    )


def live_change(
    found: Tree, config_maps: tuple[Tree, ...], workloads: tuple[Workload, ...], offer: Offer, *, spare: bool
) -> LiveChange:
    """Make the change of an offer.

    Args:
        found: the object that is to be edited.
        config_maps: those that its pods name.
        workloads: the engines in the object.
        offer: what is to be changed.
        spare: whether the cluster has room for one more pod while the old one holds its GPUs.

    Raises:
        InputError: ``edit-refused`` or ``change-elsewhere``: a person must do it.
    """
    before = manifest_of((found,), config_maps).text
    workload = next((each for each in workloads if each.supported), workloads[0])
    after, created = _moved(before, offer) if offer.moves else (edited_text(before, workload, offer.changes), ())
    old, new = _trees(before), _trees(after)
    if old[1:] != new[1:]:
        raise InputError("change-elsewhere", target=workload.unit, what="ConfigMap")
    if old == new:
        raise InputError("change-elsewhere", target=workload.unit, what=_names(offer.changes))
    changes = offer.changes
    if not spare and needs_room(found):
        changes += (Change("spec.strategy", new[0]["spec"].get("strategy"), _STRATEGY, "FIX404"),)
        new[0]["spec"]["strategy"] = _STRATEGY
        after = manifest_of((new[0],)).text
    target = reference(found)
    name = f"{target.kind.lower()}/{target.name}.yaml"
    return LiveChange(
        target,
        operations(old[0], new[0]),
        operations(new[0], old[0]),
        changes,
        diff_of(before, after, name),
        managers(found),
        created,
    )


def _moved(before: str, offer: Offer) -> tuple[str, tuple[Tree, ...]]:
    """Return the workload on other nodes, and what must be made for that; the way that touches least is taken.

    Raises:
        InputError: ``change-elsewhere`` where a pool of others would have to be widened, or a node group made.
    """
    for move in offer.moves:
        after = next((each.after for each in move.files if each.before == before), None)
        made = [tree for each in move.files if each.before is None for tree in _trees(each.after)]
        changes_others = any(each.before not in {None, before} for each in move.files)
        if after is not None and not changes_others and "CLUSTER_NAME" not in json.dumps(made):
            return after, tuple(made)
    raise InputError("change-elsewhere", target=offer.remedy, what=_names(offer.changes))


def request(found: Tree, change: LiveChange, moment: str) -> tuple[Operation, ...]:
    """Return the whole request: version and old values tested, the change, and the record of it."""
    remedies = sorted({each.remedy for each in change.changes})
    record: dict[str, Any] = {"at": moment, "remedies": remedies, "undo": list(change.undo)}
    if change.created:
        record["created"] = [list(reference(each)) for each in change.created]
    former = _annotations(found).get(ANNOTATION)
    if former is not None:
        record["before"] = json.loads(former)
    return (_version(found), *change.operations, *_recorded(found, json.dumps(record)))


def way_back(found: Tree) -> tuple[Operation, ...]:
    """Return the request that takes the last change back.

    Raises:
        UsageError: ``nothing-to-undo`` when no change is recorded.
    """
    written = _annotations(found).get(ANNOTATION)
    if written is None:
        raise UsageError("nothing-to-undo", target=str(reference(found)))
    try:
        record = json.loads(written)
        back = tuple(record["undo"])
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError("nothing-to-undo", target=str(reference(found))) from error
    former = record.get("before")
    return (_version(found), *back, *_recorded(found, None if former is None else json.dumps(former)))


def created_by(found: Tree) -> tuple[Reference, ...]:
    """Return the objects that the last change made."""
    made = (recorded(found) or {}).get("created") or ()
    return tuple(Reference(*each) for each in made if isinstance(each, list) and len(each) == len(Reference._fields))


def recorded(found: Tree) -> Mapping[str, Any] | None:
    """Return the record of the last change, None where there is none that can be read."""
    try:
        record = json.loads(_annotations(found).get(ANNOTATION, "null"))
    except ValueError:
        return None
    return record if isinstance(record, Mapping) else None


def _version(found: Tree) -> Operation:
    return {"op": "test", "path": "/metadata/resourceVersion", "value": found["metadata"]["resourceVersion"]}


def _recorded(found: Tree, text: str | None) -> tuple[Operation, ...]:
    annotations, place = _annotations(found), f"/metadata/annotations/{escaped(ANNOTATION)}"
    if text is None:
        return ({"op": "remove", "path": place},)
    if not annotations:
        return ({"op": "add", "path": "/metadata/annotations", "value": {ANNOTATION: text}},)
    return ({"op": "add", "path": place, "value": text},)


def _annotations(found: Tree) -> Mapping[str, str]:
    annotations: Mapping[str, str] = found["metadata"].get("annotations") or {}
    return annotations


def _trees(text: str) -> list[Any]:
    import yaml  # only where an object is changed

    return list(yaml.load_all(text, yaml.CSafeLoader))


def _names(changes: Iterable[Change]) -> str:
    return ", ".join(change.target for change in changes)
