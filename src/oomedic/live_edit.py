"""What a plan changes of a live object: its arguments through its text, a variable or an earlier revision in its tree.

A ConfigMap is never changed in place: other pods may read it, and the change would be a second request. A copy with
another name is made, and the object refers to it: one request, after which its pods are replaced, and one way back.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from typing import Any, Final, NamedTuple

from oomedic.errors import InputError
from oomedic.kube.ownership import Tree, reference
from oomedic.live.workload import Former
from oomedic.live_diagnosis import SPEC_TEMPLATE, manifest_of
from oomedic.patches.hiding import hidden
from oomedic.patches.patching import edited_text
from oomedic.planning.plan import Offer
from oomedic.remedy import Change
from oomedic.workloads.workload import Workload

COPY_OF: Final = "oomedic/copy-of"
"""On a copy of a ConfigMap: the name of the one that it stands in for."""
OURS: Final = {"app.kubernetes.io/managed-by": "oomedic"}
_VARIABLE: Final = "env."
_REFERENCES: Final = frozenset(("configMap", "configMapRef", "configMapKeyRef"))
_DIGITS: Final = 8
_LONGEST_NAME: Final = 253


class Whole(NamedTuple):
    """A workload with what belongs to a change of it.

    Attributes:
        found: the object that is to be edited.
        config_maps: those that its pods name.
        workloads: the engines in the object.
        former: the last revision that is known to have run.
    """

    found: Tree
    config_maps: tuple[Tree, ...] = ()
    workloads: tuple[Workload, ...] = ()
    former: Former | None = None

    @property
    def workload(self) -> Workload:
        """The engine that is changed."""
        return next((each for each in self.workloads if each.supported), self.workloads[0])


class Edited(NamedTuple):
    """The object afterwards, what must be there first, the objects that were read, and both versions as text."""

    after: dict[str, Any]
    created: tuple[Tree, ...]
    sources: tuple[Tree, ...]
    texts: tuple[str, str]


def edited(whole: Whole, offer: Offer) -> Edited:
    """Make the changes of an offer.

    Raises:
        InputError: ``edit-refused`` or ``change-elsewhere``: a person must do it.
    """
    before = manifest_of((whole.found,), whole.config_maps).text
    if offer.moves:
        after, created = _moved(before, offer)
        return Edited(trees(after)[0], created, (), (before, after))
    old = trees(before)
    if whole.former is not None and _goes_back(offer):
        new = [deepcopy(old[0]), *old[1:]]
        new[0]["spec"]["template"] = _written(whole.former.template, old[0]["spec"]["template"])
    else:
        new = trees(edited_text(before, whole.workload, offer.changes))
        _set_variables(new[0], whole.workload, offer.changes)
    changed = [pair for pair in zip(old[1:], new[1:], strict=True) if pair[0] != pair[1]]
    copies = [_copy(*pair) for pair in changed]
    for (source, _), copy in zip(changed, copies, strict=True):
        if not _refer(new[0], source["metadata"]["name"], copy["metadata"]["name"]):
            raise InputError("change-elsewhere", target=whole.workload.unit, what=str(reference(source)))
    read = {source["metadata"]["name"] for source, _ in changed}
    sources = tuple(each for each in whole.config_maps if each["metadata"]["name"] in read)
    shown = manifest_of((hidden(whole.found),), tuple(map(hidden, sources))).text
    return Edited(
        new[0], tuple(copies), sources, (shown, manifest_of((hidden(new[0]),), tuple(map(hidden, copies))).text)
    )


def trees(text: str) -> list[Any]:
    """Return the documents of a manifest."""
    import yaml  # only where an object is changed

    return list(yaml.load_all(text, yaml.CSafeLoader))


def _goes_back(offer: Offer) -> bool:
    return any(change.target == SPEC_TEMPLATE for change in offer.changes)


def _written(template: Tree, current: Tree) -> dict[str, Any]:
    """Return a pod template without what its controller put into it; fields without a value are as they are now."""
    kept = template.get("metadata") or {}
    labels = {key: label for key, label in (kept.get("labels") or {}).items() if key != "pod-template-hash"}
    metadata = {key: item for key, item in kept.items() if item is not None}
    metadata |= {key: item for key, item in (current.get("metadata") or {}).items() if item is None}
    return {**template, "metadata": {**metadata, **({"labels": labels} if labels else {})}}


def _moved(before: str, offer: Offer) -> tuple[str, tuple[Tree, ...]]:
    """Return the workload on other nodes, and what must be made for that; the way that touches least is taken.

    Raises:
        InputError: ``change-elsewhere`` where a pool of others would have to be widened, or a node group made.
    """
    for move in offer.moves:
        after = next((each.after for each in move.files if each.before == before), None)
        made = [tree for each in move.files if each.before is None for tree in trees(each.after)]
        changes_others = any(each.before not in {None, before} for each in move.files)
        if after is not None and not changes_others and "CLUSTER_NAME" not in json.dumps(made):
            return after, tuple(made)
    raise InputError("change-elsewhere", target=offer.remedy, what=names(offer.changes))


def names(changes: Iterable[Change]) -> str:
    """Return what is changed, for people."""
    return ", ".join(change.remedy if change.target == "manual" else change.target for change in changes)


def _set_variables(tree: dict[str, Any], workload: Workload, changes: Iterable[Change]) -> None:
    """Write environment variables into the engine's container.

    Raises:
        InputError: ``change-elsewhere`` where the container stands in another object, or is one of several ranks.
    """
    for change in changes:
        if not change.target.startswith(_VARIABLE) or change.after is None:
            continue
        container = _at(tree, workload.place[2]) if workload.place else None
        if not isinstance(container, dict) or workload.group_size > 1:
            raise InputError("change-elsewhere", target=workload.unit, what=change.target)
        name = change.target.removeprefix(_VARIABLE)
        others = [each for each in container.get("env") or () if each.get("name") != name]
        entry = {"name": name, "value": str(change.after)}
        place = next((at for at, each in enumerate(container.get("env") or ()) if each.get("name") == name), None)
        container["env"] = [*others, entry] if place is None else [*others[:place], entry, *others[place:]]


def _at(tree: Any, pointer: str) -> Any:
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(tree, list) and key.isdigit() and int(key) < len(tree):
            tree = tree[int(key)]
        elif isinstance(tree, Mapping):
            tree = tree.get(key)
        else:
            return None
    return tree


def _copy(old: Tree, new: Tree) -> dict[str, Any]:
    """Return a ConfigMap with new content under a name of its own: the same content gets the same name."""
    content = {key: new[key] for key in ("data", "binaryData") if key in new}
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:_DIGITS]
    found = reference(old)
    first = (old["metadata"].get("annotations") or {}).get(COPY_OF, found.name)
    name = f"{first[: _LONGEST_NAME - _DIGITS - 1]}-{digest}"
    # labels and annotations stay behind: by these Helm, Argo CD and Flux know what they may delete
    metadata = {"name": name, "namespace": found.namespace, "labels": dict(OURS), "annotations": {COPY_OF: first}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **content}


def _refer(tree: Any, name: str, other: str) -> bool:
    """Let every reference to a ConfigMap lead to another one; tell whether there was any."""
    found = [each for each in _references(tree) if each.get("name") == name]
    for each in found:
        each["name"] = other
    return bool(found)


def _references(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, list):
        for each in tree:
            yield from _references(each)
    elif isinstance(tree, dict):
        for key, each in tree.items():
            if key in _REFERENCES and isinstance(each, dict):
                yield each
            yield from _references(each)
