"""One change of one object: a dry run on the server first, then the same request once more."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from oomedic.errors import ClusterError
from oomedic.kube.ownership import Reference, Tree, reference
from oomedic.live.workload import Refused
from oomedic.sources.cluster.connection import Answer, Connection
from oomedic.sources.cluster.kinds import Kind

_MANAGER: Final = "oomedic"
_JSON_PATCH: Final = {"Content-Type": "application/json-patch+json"}
_CONFLICT: Final = 409
_FORBIDDEN: Final = 403
_REJECTED: Final = "the server rejected our request due to an error in our request"
"""All that the API server says when a test does not hold; every other error of a request it explains."""


async def change(
    connection: Connection, kind: Kind, target: Reference, patch: Sequence[Mapping[str, Any]], *, dry_run: bool
) -> Tree:
    """Send a JSON Patch and return the object as it is then.

    Raises:
        ClusterError: ``change-forbidden``, ``change-conflict``, ``change-refused``; ``change-unknown`` when the
            connection broke before the answer came.
    """
    parameters = {"fieldManager": _MANAGER, "fieldValidation": "Strict"}
    if dry_run:
        parameters["dryRun"] = "All"
    body = json.dumps(list(patch)).encode()
    path = kind.path(target.namespace, target.name)
    try:
        answer = await connection.ask("PATCH", path, parameters, body, _JSON_PATCH)
    except ClusterError as error:
        if dry_run or error.slug not in {"cluster-unreachable", "cluster-slow"}:
            raise
        raise ClusterError("change-unknown", target=str(target), reason=str(error.parameters.get("reason"))) from error
    if answer.status != 200:
        raise _refusal(answer, kind, target)
    return {"apiVersion": kind.api_version, "kind": kind.kind, **answer.tree}


async def create(connection: Connection, kind: Kind, made: Tree, *, dry_run: bool) -> bool:
    """Create one object; tell whether it is new: one that says the same, left by an interrupted change, is fine.

    Raises:
        ClusterError: as ``change``.
    """
    target = reference(made)
    parameters = {"fieldManager": _MANAGER, "fieldValidation": "Strict", **({"dryRun": "All"} if dry_run else {})}
    body, headers = json.dumps(made).encode(), {"Content-Type": "application/json"}
    answer = await connection.ask("POST", kind.path(target.namespace), parameters, body, headers)
    if answer.status == _CONFLICT:
        there = await connection.get(kind.path(target.namespace, target.name))
        if there.status == 200 and _says(there.tree, made):
            return False
    if answer.status not in {200, 201}:
        raise _refusal(answer, kind, target, "create")
    return True


def _says(found: Any, wanted: Any) -> bool:
    """Tell whether an object says all that is wanted; what the server adds does not matter."""
    if isinstance(wanted, Mapping):
        return isinstance(found, Mapping) and all(
            key in {"apiVersion", "kind"} or (key in found and _says(found[key], each)) for key, each in wanted.items()
        )
    if isinstance(wanted, list):
        return isinstance(found, list) and len(found) == len(wanted) and all(map(_says, found, wanted))
    return bool(found == wanted)


async def delete(connection: Connection, kind: Kind, target: Reference, uid: str | None = None) -> None:
    """Delete one object, with ``uid`` that very one and no successor of the same name; one that is gone is fine.

    Raises:
        ClusterError: as ``change``.
    """
    body = json.dumps({"preconditions": {"uid": uid}}).encode() if uid else None
    headers = {"Content-Type": "application/json"} if uid else None
    answer = await connection.ask("DELETE", kind.path(target.namespace, target.name), {}, body, headers)
    if answer.status not in {200, 202, 404, *((_CONFLICT,) if uid else ())}:
        raise _refusal(answer, kind, target, "delete")


def _refusal(answer: Answer, kind: Kind, target: Reference, verb: str = "patch") -> ClusterError:
    if answer.status == _FORBIDDEN:
        rule = Refused("", verb, kind.group, kind.plural, target.namespace).rule
        return ClusterError(
            "change-forbidden", verb=verb, resource=kind.plural, namespace=target.namespace or "*", rule=rule
        )
    conflict = answer.status == _CONFLICT or answer.message == _REJECTED
    slug = "change-conflict" if conflict else "change-refused"
    return ClusterError(slug, target=str(target), reason=answer.message)
