"""From a plan and a live object to the one request that changes it, with the way back recorded in the object itself."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from oomedic.errors import InputError, UsageError
from oomedic.kube.json_patch import Operation, escaped, operations
from oomedic.kube.ownership import Manager, Reference, Tree, controller_of, managers, reference
from oomedic.live.rollout import needs_room
from oomedic.live_diagnosis import BACK, as_written, manifest_of
from oomedic.live_edit import Whole, edited, names
from oomedic.patches.hiding import hidden
from oomedic.patches.patching import diff_of
from oomedic.planning.plan import Offer, Plan
from oomedic.remedy import Change

ANNOTATION: Final = "oomedic/change"
"""On the changed object: what was changed, by which remedies, and the operations that take it back."""
_STRATEGY: Final = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}


class LiveChange(NamedTuple):
    """One change of one object.

    Attributes:
        target: the object.
        operations: of its spec, each behind a test of the old value.
        undo: what takes them back.
        shown: the operations as they may be shown, without secrets.
        changes: what the plan calls them, a changed rollout strategy included.
        diff: for people.
        kept_by: tools outside of the cluster that would undo it.
        created: objects that must be there first: a node pool, a changed copy of a ConfigMap.
        owner: the object whose controller made this one, and would undo the change.
    """

    target: Reference
    operations: tuple[Operation, ...]
    undo: tuple[Operation, ...]
    shown: tuple[Operation, ...]
    changes: tuple[Change, ...]
    diff: str
    kept_by: tuple[Manager, ...] = ()
    created: tuple[Tree, ...] = ()
    owner: Reference | None = None


def chosen(plan: Plan | None, remedies: Iterable[str]) -> Offer:
    """Return the offer to apply: the best, or the first that consists of the remedies that were asked for.

    Raises:
        UsageError: ``nothing-to-apply`` or ``remedy-not-offered``.
    """
    wanted = tuple(remedies)
    offers = tuple(each for each in (plan.best, *plan.alternatives) if each is not None) if plan is not None else ()
    if plan is None or not offers or (plan.best is None and not wanted):
        raise UsageError("nothing-to-apply")
    if not wanted:
        return offers[0]
    for offer in offers:
        if offer.remedy in wanted and set(wanted) <= {offer.remedy, *(change.remedy for change in offer.changes)}:
            return offer
    raise UsageError(
        "remedy-not-offered", remedy=" + ".join(wanted), offered=tuple(dict.fromkeys(each.remedy for each in offers))
    )


def live_change(whole: Whole, offer: Offer, *, spare: bool) -> LiveChange:
    """Make the change of an offer.

    Args:
        whole: the object that is to be edited, and what belongs to it.
        offer: what is to be changed.
        spare: whether the cluster has room for one more pod while the old one holds its GPUs.

    Raises:
        InputError: ``edit-refused`` or ``change-elsewhere``: a person must do it.
    """
    found = whole.found
    made = edited(whole, offer)
    old, new, texts = as_written(found), made.after, made.texts
    if old == new:
        raise InputError("change-elsewhere", target=whole.workload.unit, what=names(offer.changes))
    changes = offer.changes
    if not spare and needs_room(new) and not _still_runs(whole, offer):
        changes += (Change("spec.strategy", new["spec"].get("strategy"), _STRATEGY, "FIX404"),)
        new["spec"]["strategy"] = _STRATEGY
        texts = (texts[0], manifest_of((hidden(new),), tuple(map(hidden, made.created)) if made.sources else ()).text)
    target = reference(found)
    return LiveChange(
        target,
        operations(old, new),
        operations(new, old),
        operations(hidden(old), hidden(new)),
        changes,
        diff_of(*texts, f"{target.kind.lower()}/{target.name}.yaml"),
        tuple(dict.fromkeys(keeper for each in (found, *made.sources) for keeper in managers(each))),
        made.created,
        controller_of(found),
    )


def _still_runs(whole: Whole, offer: Offer) -> bool:
    """Tell whether the pods that are wanted are there already: those of a revision that is still ready."""
    return offer.remedy == BACK and whole.former is not None and whole.former.until is None


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
