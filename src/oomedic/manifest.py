"""From the text of a manifest to the engines in it."""

import re
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import Final

from oomedic import shapes
from oomedic.argument_table import ArgumentTable
from oomedic.errors import InputError
from oomedic.kube_object import KubeObject, Shape, Source, objects_of
from oomedic.manifest_edit import edit, edit_resource
from oomedic.workload import Amount, EditPath, Probe, Probes, Shm, Strategy, Workload
from oomedic.yamltext import compose, line_and_column

__all__ = (
    "Amount",
    "EditPath",
    "Probe",
    "Probes",
    "Shm",
    "Strategy",
    "Workload",
    "edit",
    "edit_resource",
    "read_workloads",
)

_TEMPLATE: Final = re.compile(r"^[ \t]*(?:-[ \t]+)?(?:[\w./-]+:[ \t]+)?\{\{", re.MULTILINE)


def read_workloads(text: str, path: str, table: ArgumentTable) -> tuple[Workload, ...]:
    """Read every engine in a manifest: one object, several documents, or a List; nothing if there is no engine in it.

    Raises:
        InputError: ``yaml-…`` with the place, or ``helm-template`` for a file that Helm must render first.
    """
    try:
        file = compose(text, path)
    except InputError as error:
        template = _TEMPLATE.search(text) if error.slug != "yaml-too-large" else None
        if template is None:
            raise
        raise _template(text, path, template.end() - 2) from None
    if file.braces is not None:
        raise _template(text, path, file.braces)
    source = Source(file, tuple(objects_of(file)), table)
    workloads = tuple(workload for found in source.objects for workload in _read(found, source))
    if any(_is_template(workload) for workload in workloads):
        raise _template(text, path, text.find("{{"))
    return workloads


def _read(found: KubeObject, source: Source) -> Iterable[Workload]:
    shape = next((shape for shape in known_shapes() if shape.recognises(found)), None)
    return shape.read(found, source) if shape else ()


def _is_template(workload: Workload) -> bool:
    given = (found.value for found in workload.arguments.given.values())
    return any(isinstance(text, str) and "{{" in text for text in (workload.image, *given))


@cache
def known_shapes() -> tuple[Shape, ...]:
    """Return the modules of oomedic.shapes, in the order in which they are asked."""
    return tuple(import_module(f"{shapes.__name__}.{name}") for name in shapes.KNOWN)


def _template(text: str, path: str, index: int) -> InputError:
    line, column = line_and_column(text, index)
    return InputError("helm-template", path=path, line=line, column=column)
