"""Change how many devices the pods of a workload ask for, in the texts of manifests."""

from oomedic.arguments.table import ArgumentTable
from oomedic.edits.change import Change, made
from oomedic.edits.kustomize import is_own
from oomedic.edits.overlay import Files, file_of, find_reading, in_overlay
from oomedic.errors import InputError
from oomedic.workloads.kustomization import is_kustomization
from oomedic.workloads.reading import Count, Reading
from oomedic.workloads.workload import Workload
from oomedic.yamldoc.nodes import Node
from oomedic.yamldoc.splice import inside, refused


def edit_resource(text: str, workload: Workload, resource: str, number: int, table: ArgumentTable | None = None) -> str:
    """Set how many devices of a resource a container asks for, in requests and limits alike.

    Raises:
        InputError: ``edit-refused``.
    """
    try:
        return edit_devices({file_of(workload): text}, workload, number, table)[file_of(workload)]
    except InputError as error:
        if error.slug == "edit-refused":
            error.parameters |= {"unit": workload.unit, "argument": resource}
        raise


def edit_devices(files: Files, workload: Workload, number: int, table: ArgumentTable | None = None) -> dict[str, str]:
    """Set how many devices each pod of a workload has, wherever that is written; return all files.

    Raises:
        InputError: ``edit-refused``.
    """
    reading = find_reading(files, workload, table)
    resource = workload.gpu_resource or "devices"
    overlay = is_kustomization(reading.source.file.path)
    try:
        if not reading.counts:
            raise refused("missing")
        if overlay and not all(_is_own(reading, count.leaf) for count in reading.counts):
            return in_overlay(files, reading, lambda each, found: edit_devices(each, found, number, table), table)
        texts = dict(files)
        for index in range(len(_leaves(reading))):
            current = find_reading(texts, workload, table)
            texts = _counted(texts, current, _leaves(current)[index], number)
        if find_reading(texts, workload, table).workload.gpus_per_pod != number:
            raise refused("proof")
    except InputError as error:
        error.parameters |= {"unit": workload.unit, "argument": resource}
        raise
    return texts


def _is_own(reading: Reading, leaf: Node) -> bool:
    spot = reading.source.spot(leaf)
    return spot is not None and is_own(reading, spot.found.file.path)


def _leaves(reading: Reading) -> list[tuple[Count, int]]:
    """Return each leaf with a number of devices once, and how often it is meant."""
    found: dict[int, tuple[Count, int]] = {}
    for count in reading.counts:
        found[id(count.leaf)] = (count, found.get(id(count.leaf), (count, 0))[1] + 1)
    return list(found.values())


def _counted(files: dict[str, str], reading: Reading, meant: tuple[Count, int], number: int) -> dict[str, str]:
    count, times = meant
    leaf = count.leaf
    spot = reading.source.spot(leaf)
    if spot is None or leaf.event < 0:
        raise refused("written-elsewhere")
    value = f"{count.before}{number}{count.after}"
    start, end = len(count.before), len(leaf.value) - len(count.after)
    if leaf.value == value:
        return files
    splice = inside(spot.layer.file.text, leaf, start, end, str(number))
    result = made(Change(spot, leaf, (splice,), None, {leaf.event: value}, times=times))
    return {**files, result.path: result.text}
