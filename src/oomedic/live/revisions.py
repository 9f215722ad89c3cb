"""Which earlier revision of a workload is known to have run.

A revision counts only where the cluster itself shows that it ran: its pods are ready at this moment, or the Deployment
was available until this revision's successor was made. What merely came before may never have started.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from oomedic.claim import Claim, claim
from oomedic.kube.ownership import Tree
from oomedic.live.workload import Former, is_ready
from oomedic.redaction import HIDDEN, is_secret_name, redact

_NUMBER: Final = "deployment.kubernetes.io/revision"
_HISTORY: Final = "deployment.kubernetes.io/revision-history"
_HASH: Final = "controller-revision-hash"
_NO_ENGINE_STARTS_S: Final = 15.0
"""Within so many seconds no vLLM gets ready: its imports alone take longer."""
_MOST_SHOWN: Final = 6
_LONGEST_SHOWN: Final = 60
_NOTHING: Final = "–"


def former_of_deployment(found: Tree, replica_sets: Iterable[Tree], pods: Iterable[Tree]) -> Former | None:
    """Return the last revision of a Deployment that ran before its current one."""
    own = sorted(_own(found, replica_sets), key=_number, reverse=True)
    if len(own) < 2:
        return None
    current, *earlier = own
    ready = [pod for pod in pods if is_ready(pod)]
    for each in earlier:
        if (each.get("status") or {}).get("readyReplicas", 0):
            return _former(each, each["spec"]["template"], next((pod for pod in ready if _is_of(pod, each)), None))
    until = _available_until(found)
    if until is None or _HISTORY in (current["metadata"].get("annotations") or {}):
        return None
    if _seconds(current["metadata"]["creationTimestamp"], until) > _NO_ENGINE_STARTS_S:
        return None  # it was the current revision itself that was available
    return _former(earlier[0], earlier[0]["spec"]["template"])._replace(until=until)


def former_of_set(found: Tree, revisions: Iterable[Tree], pods: Iterable[Tree]) -> Former | None:
    """Return the last revision of a StatefulSet or DaemonSet before its current one of which a pod is ready."""
    earlier = sorted(_own(found, revisions), key=lambda each: int(each.get("revision", 0)), reverse=True)[1:]
    ready = [pod for pod in pods if is_ready(pod)]
    for each in earlier:
        names = {each["metadata"]["name"], (each["metadata"].get("labels") or {}).get(_HASH)}
        pod = next((pod for pod in ready if (pod["metadata"].get("labels") or {}).get(_HASH) in names), None)
        template = ((each.get("data") or {}).get("spec") or {}).get("template")
        if pod is not None and template is not None:
            kept = {key: item for key, item in template.items() if not key.startswith("$")}
            return Former(int(each.get("revision", 0)), each["metadata"]["creationTimestamp"], kept, pod=pod)
    return None


def ran_itself_until(found: Tree, replica_sets: Iterable[Tree]) -> str | None:
    """Return until when a Deployment was available that is not now, where that was its current revision already."""
    current = max(_own(found, replica_sets), key=_number, default=None)
    until = _available_until(found)
    if until is None or current is None or _HISTORY in (current["metadata"].get("annotations") or {}):
        return None
    return until if _seconds(current["metadata"]["creationTimestamp"], until) > _NO_ENGINE_STARTS_S else None


def differences(former: Former, template: Tree) -> Iterator[Claim]:
    """Say what else the pods have otherwise than that revision's: image, variables, resources, node, volumes."""
    before, after = dict(_places(former.template)), dict(_places(template))
    changed = [place for place in {**before, **after} if before.get(place) != after.get(place)]
    for place in changed[:_MOST_SHOWN]:
        yield claim(
            "cluster.differs", place=place, before=before.get(place, _NOTHING), after=after.get(place, _NOTHING)
        )


def _places(template: Tree) -> Iterator[tuple[str, str]]:
    """Yield what of a pod template can change how an engine starts, arguments apart: those are compared as such."""
    spec = template.get("spec") or {}
    for key, label in (spec.get("nodeSelector") or {}).items():
        yield f"nodeSelector.{key}", str(label)
    for volume in spec.get("volumes") or ():
        source = {key: item for key, item in volume.items() if key != "name"}
        yield f"volumes.{volume.get('name')}", _short(source)
    for container in spec.get("containers") or ():
        name = container.get("name")
        yield f"{name}.image", str(container.get("image"))
        for kind in ("requests", "limits"):
            for key, amount in ((container.get("resources") or {}).get(kind) or {}).items():
                yield f"{name}.resources.{kind}.{key}", str(amount)
        for variable in container.get("env") or ():
            yield f"{name}.env.{variable.get('name')}", _value(variable)


def _value(variable: Mapping[str, Any]) -> str:
    if "value" not in variable:
        return _short(variable.get("valueFrom") or {})
    return HIDDEN if is_secret_name(str(variable.get("name"))) else redact(str(variable["value"]))[:_LONGEST_SHOWN]


def _short(content: Mapping[str, Any]) -> str:
    return json.dumps(content, sort_keys=True)[:_LONGEST_SHOWN]


def _own(found: Tree, revisions: Iterable[Tree]) -> list[Tree]:
    uid = found["metadata"].get("uid")
    return [
        each for each in revisions if uid in [owner["uid"] for owner in each["metadata"].get("ownerReferences") or ()]
    ]


def _is_of(pod: Tree, replica_set: Tree) -> bool:
    return replica_set["metadata"]["uid"] in [owner["uid"] for owner in pod["metadata"].get("ownerReferences") or ()]


def _number(replica_set: Tree) -> int:
    written = (replica_set["metadata"].get("annotations") or {}).get(_NUMBER, "0")
    return int(written) if written.isdigit() else 0


def _former(replica_set: Tree, template: Tree, pod: Tree | None = None) -> Former:
    return Former(_number(replica_set), replica_set["metadata"]["creationTimestamp"], template, pod=pod)


def _available_until(found: Tree) -> str | None:
    """Return until when a Deployment was available; None where it is, or may never have been.

    The condition is there from the beginning on and changes with availability alone: when it became false long after
    the object was made, it had been true.
    """
    for each in (found.get("status") or {}).get("conditions") or ():
        if each["type"] == "Available" and each["status"] == "False":
            since = str(each.get("lastTransitionTime") or "")
            made = found["metadata"].get("creationTimestamp", "")
            return since if since and made and _seconds(made, since) > _NO_ENGINE_STARTS_S else None
    return None


def _seconds(start: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
