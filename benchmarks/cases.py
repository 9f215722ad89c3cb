"""Recorded cases as questions: what a user would have, never what the audit says about the case."""

import json
import lzma
import re
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from oomedic import __version__
from oomedic.arguments.given import EngineArgs, Given
from oomedic.errors import UnknownName
from oomedic.figure import Figure, between
from oomedic.gathering.gather import EngineOptions
from oomedic.pipeline import Library, Log, Question
from oomedic.sources.builtin import load

CASES = Path(__file__).resolve().parent.parent / "tests/cases"
Case = Mapping[str, Any]


def read(path: Path) -> Iterator[Case]:
    """Read cases, one JSON object per line; ``.xz`` is unpacked."""
    with lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)


def default(name: str) -> Path:
    """Return the project's own copy of a file of cases."""
    return next(iter(sorted(CASES.glob(f"{name}*"))), CASES / name)


def library() -> Library:
    """Return the facts, without a hub: a benchmark asks nobody."""
    return Library(load(), __version__)


def question(case: Case, found: Library, *, with_log: bool) -> Question:
    """Turn a case into what a user would hand over: log lines, arguments, version, GPU, number of GPUs."""
    lines = "\n".join(case.get("log_excerpt") or ())
    logs = (Log(case["id"], [lines.encode()]),) if with_log and lines else ()
    return Question(logs, (), arguments(case), options(case, found))


def arguments(case: Case) -> EngineArgs:
    """Return the arguments of a record; one that only the log named ("_printed") was in force all the same."""
    values = {name.removesuffix("_printed"): value for name, value in (case.get("args") or {}).items()}
    given = {name: Given(value, "command line", name) for name, value in values.items() if value is not None}
    if case.get("model"):
        given["model"] = Given(str(case["model"]).partition(" (")[0], "command line", "model")
    return EngineArgs(given)


def options(case: Case, found: Library) -> EngineOptions:
    """Return version, card and number of cards, as far as they are known."""
    card = _card(case.get("gpu") or "", case.get("gpu_total_gib"), found)
    memory = None if card is not None else _memory_of_class(case.get("gpu") or "", found)
    return EngineOptions(gpu=card, gpu_count=case.get("gpu_count"), gpu_memory=memory, vllm=case.get("vllm_version"))


def _card(text: str, total_gib: float | None, found: Library) -> str | None:
    """Return the catalogue's name for a card that a record describes in words; of several, the smallest."""
    total = round(total_gib * 2**30) if total_gib else None
    words = [text, *re.findall(r"\(([^)]*)\)", text), *re.split(r" \+ | or |, ", text)]
    for name in filter(None, words):
        try:
            return found.catalogue.gpu(name, total).name
        except UnknownName as error:
            several = error.parameters.get("candidates", ())
            if several:
                return min(map(found.catalogue.gpu, several), key=lambda gpu: gpu.memory.value).name
    return None


def _memory_of_class(text: str, found: Library) -> Figure | None:
    """Return what cards "of 24 GB" show, where a record tells no more than that."""
    nominal = re.search(r"(\d+) ?GB", text)
    shown = sorted(
        gpu.memory.value
        for gpu in found.catalogue.gpus()
        if nominal and gpu.mig is None and 0.9 < gpu.memory.value / (int(nominal[1]) * 2**30) <= 1
    )
    return between(shown[0], shown[len(shown) // 2], shown[-1], "assumed", text) if shown else None


def whole_logs(path: Path) -> Iterator[tuple[Case, bytes]]:
    """Read whole logs with their index: a folder, or a compressed archive of one."""
    if path.is_dir():
        for line in (path / "index.jsonl").read_text(encoding="utf-8").splitlines():
            case = json.loads(line)
            yield case, (path / case["file"]).read_bytes()
        return
    with tarfile.open(path) as archive:
        members = {Path(member.name).name: member for member in archive if member.isfile()}
        index = archive.extractfile(members["index.jsonl"])
        for line in index.read().decode().splitlines() if index else ():
            case = json.loads(line)
            log = archive.extractfile(members[case["file"]])
            yield case, log.read() if log else b""
