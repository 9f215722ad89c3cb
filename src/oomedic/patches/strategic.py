"""What has to be merged into the objects: a strategic merge patch where Kubernetes has one, else a JSON merge patch.

Only built-in kinds know how their lists are merged; custom resources are merged by RFC 7386, where a list is replaced
as a whole.
"""

from typing import Any, Final, Literal, NamedTuple

from oomedic.edits.tree import merging
from oomedic.patches.changed import Changed, ObjectChange, changed_objects
from oomedic.patches.objects import heading, require_objects, without_secrets, yaml_text

_BUILT_IN: Final = frozenset(("", "apps", "batch"))
"""API groups of workloads that the API server knows the lists of."""


class MergePatch(NamedTuple):
    """What ``kubectl patch --type`` calls it, and what is to be merged; it names its object."""

    type: Literal["strategic", "merge"]
    body: dict[str, Any]


def merge_patch(change: ObjectChange) -> MergePatch:
    """Return what makes one object the other when it is merged into it."""
    strategic = change.group in _BUILT_IN
    metadata = {"name": change.name} | ({"namespace": change.namespace} if change.namespace else {})
    named = {"apiVersion": change.api_version, "kind": change.kind, "metadata": metadata}
    body = merging(change.before, change.after, strategic=strategic)
    labels = body.pop("metadata", {})
    return MergePatch("strategic" if strategic else "merge", {**named, "metadata": {**metadata, **labels}, **body})


def render(changed: Changed) -> str:
    """Return one patch for each object, behind a comment that says how to apply it.

    Raises:
        InputError: ``patch-form-unfit`` for a file that is no object, ``patch-secret``.
    """
    changes = require_objects(changed_objects(changed), changed, "strategic")
    patches = [merge_patch(change) for change in changes]
    return "---\n".join(
        heading(change, patch.type) + yaml_text(without_secrets(patch.body, change, "strategic"))
        for change, patch in zip(changes, patches, strict=True)
    )
