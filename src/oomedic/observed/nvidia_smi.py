"""nvidia-smi's table, ``nvidia-smi -L`` and ``nvidia-smi --query-… --format=csv``; ``-q`` has a module of its own."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from oomedic.figure import exactly
from oomedic.observed.facts import Driver, GpuProcess, Line, Observed, ObservedGpu
from oomedic.units import MIB

_VERSIONS: Final = re.compile(r"Driver Version: (?P<driver>[\d.]+)(?:\s+CUDA Version: (?P<cuda>[\d.]+))?")
_CARD: Final = re.compile(
    r"\|\s+(?P<index>\d{1,3})\s+(?P<name>\S[^|]{0,80}?)\s+(?:(?:On|Off|N/A)\s*)?\|\s+[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:"
)
_MEMORY: Final = re.compile(r"(?P<used>\d{1,9})MiB\s*/\s*(?P<total>\d{1,9})MiB")
_SLICE: Final = re.compile(r"\|\s+(?P<index>\d{1,3})\s+\d{1,3}\s+\d{1,3}\s+\d{1,3}\s+\|")
_PROCESS: Final = re.compile(
    r"\|\s+(?P<index>\d{1,3})\s+(?:(?:N/A|\d{1,3})\s+(?:N/A|\d{1,3})\s+)?(?P<pid>\d{1,9})\s+"
    r"(?:C|G|C\+G|M|M\+C)\s+(?P<name>\S[^|]{0,200}?)\s+(?:(?P<memory>\d{1,9})MiB|N/A)\s*\|"
)
_LISTED: Final = re.compile(r"GPU (?P<index>\d{1,3}): (?P<name>.{1,80}?) \(UUID: GPU-")
_LISTED_SLICE: Final = re.compile(r"\s+MIG (?P<profile>\S{1,20})\s+Device\s+\d+: \(UUID: MIG-")
_TRUNCATED: Final = "..."
_FAILURES: Final = ("NVML", "NVIDIA-SMI has failed", "No devices were found", "Unable to determine", "GPU is lost")
_WHOLE: Final = re.compile(r"(\d{1,9})(?: MiB)?")
_COLUMNS: Final[Mapping[str, str]] = {
    "name": "name",
    "gpu_name": "name",
    "index": "index",
    "memory.total": "total",
    "memory.used": "used",
    "memory.free": "free",
    "driver_version": "driver",
    "pid": "pid",
    "process_name": "process",
    "used_gpu_memory": "memory",
    "used_memory": "memory",
}


def read_nvidia_smi(text: str, path: str) -> Observed:
    """Read the output of nvidia-smi in whichever form it is."""
    from oomedic.observed.nvidia_smi_query import is_query, read_query  # each form loads itself

    if is_query(text):
        return read_query(text, path)
    lines = text.splitlines()
    header = next((number for number, line in enumerate(lines) if _is_csv_header(line)), None)
    found = _csv(lines, header, path) if header is not None else _table(lines, path)
    if not found.gpus:
        found = found._replace(gpus=tuple(_listed(lines, path)))
    failures = (Line(line.strip(), f"{path}:{number}") for number, line in enumerate(lines, 1) if _is_failure(line))
    return found._replace(lines=tuple(failures))


def _is_failure(line: str) -> bool:
    return any(words in line for words in _FAILURES)


def _table(lines: Sequence[str], path: str) -> Observed:
    """Read the table: a card's memory stands in its own or in the next row, slices and processes in tables below."""
    cards: list[ObservedGpu] = []
    slices: list[ObservedGpu] = []
    processes: dict[int, list[GpuProcess]] = {}
    driver: Driver | None = None
    for number, line in enumerate(lines, 1):
        where = f"{path}:{number}"
        if driver is None and (versions := _VERSIONS.search(line)):
            driver = Driver(versions["driver"], versions["cuda"], where)
        if process := _PROCESS.match(line.strip()):
            memory = exactly(int(process["memory"]) * MIB, "printed", where) if process["memory"] else None
            found = GpuProcess(process["name"], int(process["pid"]), memory, where)
            processes.setdefault(int(process["index"]), []).append(found)
            continue
        if card := _CARD.match(line.strip()):
            cards.append(ObservedGpu(where, int(card["index"]), _whole_name(card["name"])))
        elif piece := _SLICE.match(line.strip()):
            slices.append(_with_memory(ObservedGpu(where, int(piece["index"])), line, where))
            continue
        if cards and cards[-1].total is None:
            cards[-1] = _with_memory(cards[-1], line, where)
    gpus = tuple(gpu._replace(processes=tuple(processes.get(gpu.number or 0, ()))) for gpu in slices or cards)
    names = {card.number: card.name for card in cards}
    return Observed(gpus=tuple(gpu._replace(name=gpu.name or names.get(gpu.number)) for gpu in gpus), driver=driver)


def _whole_name(name: str) -> str | None:
    """Return the name of a card; older drivers cut it at 18 characters, and then it is none."""
    return None if name.endswith(_TRUNCATED) else name


def _with_memory(gpu: ObservedGpu, line: str, where: str) -> ObservedGpu:
    memory = _MEMORY.search(line)
    if memory is None:
        return gpu
    used, total = (exactly(int(memory[name]) * MIB, "printed", where) for name in ("used", "total"))
    return gpu._replace(total=total, used=used, where=where)


def _listed(lines: Sequence[str], path: str) -> Iterator[ObservedGpu]:
    """Read ``nvidia-smi -L``: names alone; a slice takes the place of its card."""
    card: ObservedGpu | None = None
    sliced = False
    for number, line in enumerate(lines, 1):
        if found := _LISTED.match(line):
            if card is not None and not sliced:
                yield card
            card, sliced = ObservedGpu(f"{path}:{number}", int(found["index"]), found["name"]), False
        elif card is not None and (piece := _LISTED_SLICE.match(line)):
            sliced = True
            yield card._replace(name=f"{card.name} MIG {piece['profile']}", mig=piece["profile"])
    if card is not None and not sliced:
        yield card


def _is_csv_header(line: str) -> bool:
    names = [_column(cell) for cell in line.split(",")]
    return len(names) > 1 and all(
        name is not None or "." in cell for name, cell in zip(names, line.split(","), strict=True)
    )


def _column(cell: str) -> str | None:
    return _COLUMNS.get(cell.partition("[")[0].strip())


def _csv(lines: Sequence[str], header: int, path: str) -> Observed:
    columns = [_column(cell) for cell in lines[header].split(",")]
    gpus: list[ObservedGpu] = []
    processes: list[GpuProcess] = []
    driver: Driver | None = None
    for number, line in enumerate(lines[header + 1 :], header + 2):
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) != len(columns):
            continue
        row = {name: cell for name, cell in zip(columns, cells, strict=True) if name}
        where = f"{path}:{number}"
        sizes = {
            name: exactly(int(whole[1]) * MIB, "printed", where)
            for name in ("total", "used", "free", "memory")
            if (whole := _WHOLE.fullmatch(row.get(name, "")))
        }
        if "pid" in row and row["pid"].isdecimal():
            processes.append(GpuProcess(row.get("process", ""), int(row["pid"]), sizes.get("memory"), where))
            continue
        index = int(row["index"]) if row.get("index", "").isdecimal() else len(gpus)
        gpus.append(
            ObservedGpu(where, index, row.get("name"), sizes.get("total"), sizes.get("used"), sizes.get("free"))
        )
        driver = driver or (Driver(row["driver"], None, where) if "driver" in row else None)
    if processes:
        gpus.append(ObservedGpu(processes[0].where, processes=tuple(processes)))
    return Observed(gpus=tuple(gpus), driver=driver)
