"""Patches for a kustomization: JSON 6902 operations on what it builds, to be put under its ``patches``."""

from typing import Any

from oomedic.edits.tree import operations
from oomedic.patches.changed import Changed, ObjectChange, changed_objects
from oomedic.patches.objects import require_objects, without_secrets, yaml_text


def render(changed: Changed) -> str:
    """Return the key ``patches`` of a kustomization, or what is to be added to it.

    Raises:
        InputError: ``patch-form-unfit`` for a file that is no object, ``patch-secret``.
    """
    changes = require_objects(changed_objects(changed), changed, "kustomize")
    return "patches:\n" + "".join(map(_entry, changes))


def _entry(change: ObjectChange) -> str:
    found = without_secrets(list(operations(change.before, change.after)), change, "kustomize")
    target = "".join(f"      {line}\n" for line in yaml_text(_target(change)).splitlines())
    patch = "".join(f"      {line}\n" for line in yaml_text(found).splitlines())
    return f"  - target:\n{target}    patch: |-\n{patch}"


def _target(change: ObjectChange) -> dict[str, Any]:
    group, _, version = change.api_version.rpartition("/")
    target = {"group": group, "version": version, "kind": change.kind, "name": change.written_name}
    return {key: value for key, value in target.items() if value}
