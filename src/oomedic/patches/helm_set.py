"""Options for ``helm upgrade``, behind the values file: ``--set-json 'servingEngineSpec.modelSpec[0].…=8192'``.

JSON keeps the type and needs no escaping of its own; in the path dots, commas, brackets and equal signs are escaped
(helm/pkg/strvals).
"""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any, Final

from oomedic.errors import InputError
from oomedic.patches.changed import Changed, changed_objects
from oomedic.patches.objects import without_secrets

_ESCAPED: Final = re.compile(r"([.,=\[\]{}\\])")


def render(changed: Changed) -> str:
    """Return the options, one a line.

    Raises:
        InputError: ``patch-form-unfit`` for a file that is an object, ``patch-secret``.
    """
    changes = changed_objects(changed)
    other = next((change.path for change in changes if change.kind), next(iter(changed.made), None))
    if other is not None:
        raise InputError("patch-form-unfit", form="helm-set", path=other, instead="diff")
    pairs = [
        (path, without_secrets(value, change, "helm-set"))
        for change in changes
        for path, value in _differences(change.before, change.after, "")
    ]
    options = [f"--set-json {shlex.quote(f'{path}={json.dumps(value)}')}" for path, value in pairs]
    return " \\\n".join(options) + "\n"


def _differences(before: Any, after: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the path and the new value of each difference; null where a key is gone."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in (*before, *(key for key in after if key not in before)):
            inner = f"{path}.{_escaped(key)}" if path else _escaped(key)
            if key not in before or key not in after:
                yield inner, after.get(key)
            else:
                yield from _differences(before[key], after[key], inner)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _differences(old, new, f"{path}[{index}]")
    elif before != after or type(before) is not type(after):
        yield path, after


def _escaped(key: str) -> str:
    return _ESCAPED.sub(r"\\\1", str(key))
