"""``nvidia-smi -q``: an indented report with one block per card."""

import re
from collections.abc import Sequence
from typing import Any, Final

from oomedic.figure import Figure, exactly
from oomedic.observed.facts import Driver, GpuProcess, Observed, ObservedGpu
from oomedic.units import MIB

_LOG: Final = re.compile(r"={3,}NVSMI LOG={3,}|^\s*FB Memory Usage\s*$", re.MULTILINE)
_CARD: Final = re.compile(r"GPU [0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d")
_FIELD: Final = re.compile(r"(\s*)(\S[^:]{0,60}?)\s*:\s(.*)")
_MEMORY: Final[dict[str, str]] = {"Total": "total", "Used": "used", "Free": "free"}


def is_query(text: str) -> bool:
    """Tell whether a text is the report of ``nvidia-smi -q``."""
    return _LOG.search(text) is not None


def read_query(text: str, path: str) -> Observed:
    """Read the report: name, memory and processes of each card."""
    lines = text.splitlines()
    starts = [number for number, line in enumerate(lines) if _CARD.match(line)]
    head = lines[: starts[0]] if starts else lines
    ends = [*starts[1:], len(lines)]
    cards = (
        _card(lines[start:end], path, start + 1, index)
        for index, (start, end) in enumerate(zip(starts, ends, strict=True))
    )
    return Observed(gpus=tuple(cards), driver=_driver(head, path))


def _driver(lines: Sequence[str], path: str) -> Driver | None:
    versions: dict[str, tuple[str, int]] = {}
    for number, line in enumerate(lines, 1):
        field = _FIELD.match(line)
        if field and field[2] in {"Driver Version", "CUDA Version"}:
            versions.setdefault(field[2], (field[3].strip(), number))
    if "Driver Version" not in versions:
        return None
    version, number = versions["Driver Version"]
    cuda = versions.get("CUDA Version", (None, 0))[0]
    return Driver(version, cuda, f"{path}:{number}")


def _card(lines: Sequence[str], path: str, first: int, index: int) -> ObservedGpu:
    """Read the block of one card; sections are told by their headings, which have no value."""
    gpu = ObservedGpu(f"{path}:{first}", index)
    memory: dict[str, Any] = {}
    processes: list[GpuProcess] = []
    section = ""
    for number, line in enumerate(lines, first):
        field = _FIELD.match(line)
        if field is None:
            section = line.strip()
            continue
        where, key, value = f"{path}:{number}", field[2], field[3].strip()
        if key == "Product Name":
            gpu = gpu._replace(name=value)
        elif section == "FB Memory Usage" and key in _MEMORY and (size := _size(value, where)):
            memory.setdefault(_MEMORY[key], size)
        elif key == "Process ID" and value.isdecimal():
            processes.append(GpuProcess("", int(value), None, where))
        elif processes and key == "Name":
            processes[-1] = processes[-1]._replace(name=value)
        elif processes and key == "Used GPU Memory":
            processes[-1] = processes[-1]._replace(memory=_size(value, where))
    return gpu._replace(processes=tuple(processes), **memory)


def _size(value: str, where: str) -> Figure | None:
    number, _, unit = value.partition(" ")
    return exactly(int(number) * MIB, "printed", where) if number.isdecimal() and unit == "MiB" else None
