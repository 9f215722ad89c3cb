"""What the forms for objects have in common: which changes they can show, how each is headed, and no secret in any."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from oomedic.errors import InputError
from oomedic.patches.changed import Changed, ObjectChange
from oomedic.redaction import is_secret_name, redact

Shown = TypeVar("Shown")

REFERENCES: Final = ("secretname", "secretref", "secretkeyref", "secret", "imagepullsecrets")
"""Keys of Kubernetes that name a Secret and hold none."""


def require_objects(changes: Sequence[ObjectChange], changed: Changed, form: str) -> Sequence[ObjectChange]:
    """Return the changes of objects.

    Raises:
        InputError: ``patch-form-unfit`` where a file that is no object has to change, or a file has to be made.
    """
    other = next((change.path for change in changes if not change.kind), None)
    if other is None and changed.made:
        other = changed.made[0]
    if other is not None:
        instead = "diff" if changed.made else "helm-set"
        raise InputError("patch-form-unfit", form=form, path=other, instead=instead)
    return changes


def heading(change: ObjectChange, kind: str) -> str:
    """Return a comment with the command that applies a patch."""
    namespace = f" -n {change.namespace}" if change.namespace else ""
    resource = f"{change.kind.lower()}.{change.group}" if "." in change.group else change.kind.lower()
    return f"# kubectl patch {resource} {change.name}{namespace} --type={kind} --patch-file=FILE\n"


def without_secrets(value: Shown, change: ObjectChange, form: str) -> Shown:
    """Return what is to be shown.

    Raises:
        InputError: ``patch-secret`` where a secret would be shown.
    """
    if holds_secret(value):
        raise InputError("patch-secret", form=form, unit=change.title)
    return value


def holds_secret(value: Any) -> bool:
    """Tell whether a tree of plain values holds a secret.

    >>> holds_secret(["--api-key", "abc"]), holds_secret([{"name": "HF_TOKEN", "value": "abc"}])
    (True, True)
    >>> holds_secret({"secretKeyRef": {"name": "hf", "key": "token"}}), holds_secret(["--max-model-len", "8"])
    (False, False)
    """
    if isinstance(value, str):
        return redact(value) != value
    if isinstance(value, Mapping):
        return _mapping_holds_secret(value)
    if isinstance(value, list | tuple):
        behind = (value[at + 1] for at, word in enumerate(value[:-1]) if is_secret_flag(word))
        return any(isinstance(word, str) and not word.startswith("-") for word in behind) or any(
            map(holds_secret, value)
        )
    return False


def yaml_text(value: Any) -> str:
    """Return plain values as YAML, in their own order."""
    import yaml  # only where YAML is asked for

    return str(yaml.dump(value, Dumper=yaml.SafeDumper, sort_keys=False, allow_unicode=True, width=4096))


def _mapping_holds_secret(value: Mapping[str, Any]) -> bool:
    if is_secret_name(str(value.get("name", ""))) and isinstance(value.get("value"), str) and value["value"]:
        return True
    return any(
        (isinstance(item, str) and bool(item) and is_secret_name(str(key)) and str(key).lower() not in REFERENCES)
        or holds_secret(item)
        for key, item in value.items()
    )


def is_secret_flag(word: Any) -> bool:
    """Tell whether the word behind this one is a secret."""
    return isinstance(word, str) and word.startswith("-") and "=" not in word and is_secret_name(word)
