"""JSON Patch (RFC 6902) of the objects: ``kubectl patch KIND NAME --type=json --patch-file=FILE``."""

import json

from oomedic.kube.json_patch import Operation, operations
from oomedic.patches.changed import Changed, ObjectChange, changed_objects
from oomedic.patches.objects import heading, require_objects, without_secrets


def operations_of(change: ObjectChange) -> tuple[Operation, ...]:
    """Return the operations that make one object the other, each behind a test of the old value."""
    return operations(change.before, change.after)


def render(changed: Changed) -> str:
    """Return one patch, or one for each object behind a comment that names it.

    Raises:
        InputError: ``patch-form-unfit`` for a file that is no object, ``patch-secret``.
    """
    changes = require_objects(changed_objects(changed), changed, "jsonpatch")
    patches = [without_secrets(list(operations_of(change)), change, "jsonpatch") for change in changes]
    texts = [json.dumps(patch, indent=2, ensure_ascii=False) + "\n" for patch in patches]
    if len(texts) == 1:
        return texts[0]
    return "".join(f"{heading(change, 'json')}{text}" for change, text in zip(changes, texts, strict=True))
