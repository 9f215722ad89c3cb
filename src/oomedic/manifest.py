"""From the texts of manifests to the engines in them."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from typing import Final, NamedTuple, cast

from oomedic import shapes
from oomedic.arguments.table import ArgumentTable
from oomedic.errors import InputError
from oomedic.kube.objects import KubeObject, objects_of
from oomedic.workloads.helm_values import embedded
from oomedic.workloads.kustomization import is_kustomization, kustomizations
from oomedic.workloads.reading import Reading, Shape
from oomedic.workloads.source import Beside, Source
from oomedic.workloads.workload import EditPath, Workload
from oomedic.yamldoc.text import YamlFile, compose, line_and_column

_TEMPLATE: Final = re.compile(r"^[ \t]*(?:-[ \t]+)?(?:[\w./-]+:[ \t]+)?\{\{", re.MULTILINE)
_HANDING_VALUES: Final = frozenset(("HelmRelease", "Application"))
_OWN: Final = "Kustomization/"


class FileReading(NamedTuple):
    """What was read of one file, or of the kustomization that it is: its engines and all its objects, or an error."""

    path: str
    engines: tuple[Reading, ...] = ()
    objects: tuple[KubeObject, ...] = ()
    error: InputError | None = None


def read_workloads(text: str, path: str, table: ArgumentTable) -> tuple[Workload, ...]:
    """Read every engine in a manifest: one object, several documents, or a List; nothing if there is no engine in it.

    Raises:
        InputError: ``yaml-…`` with the place, or ``helm-template`` for a file that Helm must render first.
    """
    return tuple(reading.workload for reading in read_manifests({path: text}, table))


def read_manifests(files: Mapping[str, str], table: ArgumentTable) -> tuple[Reading, ...]:
    """Read every engine of several files, which may refer to each other.

    A kustomization stands for all the files that it refers to: what runs is what it makes of them.

    Raises:
        InputError: as ``read_workloads``, for the first file that cannot be read.
    """
    return _read_all(tuple(files.items()), table)


@lru_cache(maxsize=4)  # a change is held against the very texts that were read before
def _read_all(files: tuple[tuple[str, str], ...], table: ArgumentTable) -> tuple[Reading, ...]:
    found: list[Reading] = []
    for file in read_files(dict(files), table):
        if file.error is not None:
            raise file.error
        found += file.engines
    return tuple(found)


def read_files(files: Mapping[str, str], table: ArgumentTable) -> Iterator[FileReading]:
    """Read files one by one; an error of one is told and stops none of the others."""
    roots, parts = kustomizations(files)
    composed: dict[str, YamlFile] = {}
    errors: dict[str, InputError] = {}
    for path, text in files.items():
        if path not in parts and not is_kustomization(path):
            try:
                composed[path] = compose_manifest(text, path)
            except InputError as error:
                errors[path] = error
    beside = Beside.of(found for file in composed.values() for found in objects_of(file)) if len(composed) > 1 else None
    for path in files:
        if path in errors:
            yield FileReading(path, error=errors[path])
        elif path in composed:
            yield _read_file(composed[path], table, beside)
        elif path in roots:
            yield _read_kustomization(path, files, table)


def compose_manifest(text: str, path: str) -> YamlFile:
    """Read the YAML of a manifest.

    Raises:
        InputError: as ``read_workloads``.
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
    return file


def known_shapes() -> Iterator[Shape]:
    """Yield the modules of oomedic.shapes in the order in which they are asked; those after a match stay unloaded."""
    yield from (cast("Shape", import_module(f"{shapes.__name__}.{name}")) for name in shapes.KNOWN)


def _read_kustomization(path: str, files: Mapping[str, str], table: ArgumentTable) -> FileReading:
    from oomedic.workloads.kustomize import build  # only where there is a kustomization

    try:
        built = build(path, files.get)
        source = Source(built.file, table, None, (built.objects, built.atlas))
        engines = tuple(_of_overlay(reading) for reading in _engines(source))
    except InputError as error:
        return FileReading(path, error=error)
    return FileReading(path, engines, built.objects)


def _of_overlay(reading: Reading) -> Reading:
    """Name places in patches by the object that they change, and the change within the kustomization."""
    title = f"{reading.workload.kind}/{reading.workload.name}"

    def shown(path: EditPath) -> EditPath:
        return path._replace(object=title, pointer=None) if path.object == _OWN else path

    return reading.having(edit_paths={name: shown(path) for name, path in reading.workload.edit_paths.items()})


def _read_file(file: YamlFile, table: ArgumentTable, beside: Beside | None) -> FileReading:
    source = Source(file, table, beside)
    try:
        engines = tuple(_engines(source))
    except InputError as error:
        return FileReading(file.path, error=error)
    return FileReading(file.path, engines, source.objects)


def _engines(source: Source) -> Iterator[Reading]:
    readings = tuple(reading for found in source.objects for reading in _read(found, source))
    if any(_is_template(reading.workload) for reading in readings):
        text = source.file.text
        raise _template(text, source.file.path, text.find("{{"))
    yield from (reading.having(file=source.file.path) for reading in _not_owned(readings))


def _read(found: KubeObject, source: Source) -> Iterator[Reading]:
    if found.kind in _HANDING_VALUES:
        source.atlas.take(found)
        for values in embedded(found, source):
            yield from _read(values, source)
    shape = next((shape for shape in known_shapes() if shape.recognises(found)), None)
    if shape is not None:
        source.atlas.take(found)
        yield from shape.read(found, source)


def _not_owned(readings: tuple[Reading, ...]) -> Iterator[Reading]:
    """Leave out what another object of the same file makes: the pods of a Deployment that stands beside them."""
    there = {f"{reading.workload.kind}/{reading.workload.name}" for reading in readings}
    yield from (reading for reading in readings if reading.workload.owner not in there)


def _is_template(workload: Workload) -> bool:
    given = (found.value for found in workload.arguments.given.values())
    return any(isinstance(text, str) and "{{" in text for text in (workload.image, *given))


def _template(text: str, path: str, index: int) -> InputError:
    line, column = line_and_column(text, index)
    return InputError("helm-template", path=path, line=line, column=column)
