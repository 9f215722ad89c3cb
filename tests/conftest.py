import io
import json
import lzma
import os
import sys
import tarfile
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, settings

from oomedic.entrypoints.cli import main
from oomedic.logs.signatures import Signatures

TESTS = Path(__file__).parent
DATA = TESTS.parent / "src/oomedic/data"
os.environ["OOMEDIC_LANG"] = "en"  # whatever the locale of who runs the tests; processes that tests start inherit it
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")  # how long an example takes tells how busy the machine is; benchmarks/ measure time


@pytest.fixture(scope="session")
def signature_rows():
    """Every shipped signature as its TOML says, examples included."""
    return [
        {"name": path.stem} | tomllib.loads(path.read_text(encoding="utf-8"))
        for path in sorted((DATA / "signatures").glob("*.toml"))
    ]


@pytest.fixture(scope="session")
def signatures(signature_rows):
    return Signatures(signature_rows)


@pytest.fixture(scope="session")
def events_of(signatures):
    """Read a text into its events."""
    return lambda text: tuple(signatures.read([text.encode() if isinstance(text, str) else text]))


@pytest.fixture(scope="session")
def real_logs():
    """The logs of real starts of vLLM's CPU build, by file name; ``README.md`` in the archive says what they are."""
    with tarfile.open(fileobj=io.BytesIO(lzma.decompress((TESTS / "cases/real_logs.tar.xz").read_bytes()))) as archive:
        return {member.name: archive.extractfile(member).read() for member in archive if member.name.endswith(".log")}


@pytest.fixture(scope="session")
def real_log_index():
    """One row per real log: its version, what became of it, and the line that tells the cause."""
    with tarfile.open(fileobj=io.BytesIO(lzma.decompress((TESTS / "cases/real_logs.tar.xz").read_bytes()))) as archive:
        return [json.loads(line) for line in archive.extractfile("index.jsonl")]


@pytest.fixture(scope="session")
def crash_cases():
    return _rows("crashes.jsonl")


@pytest.fixture(scope="session")
def start_cases():
    return _rows("starts.jsonl")


def _rows(name):
    return [json.loads(line) for line in (TESTS / "cases" / name).read_text(encoding="utf-8").splitlines()]


class Ran(NamedTuple):
    """What one command came to."""

    status: int
    out: str
    err: str

    @property
    def results(self):
        """The results of a JSON report."""
        return json.loads(self.out)["results"]


@pytest.fixture
def oomedic(capsys, monkeypatch, tmp_path):
    """Run a command of oomedic in this process, without a network; ``stdin`` is what it reads there."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("OOMEDIC_CACHE", str(tmp_path / "oomedic-cache"))
    monkeypatch.delenv("NO_COLOR", raising=False)

    def run(*words, stdin=""):
        content = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        capsys.readouterr()
        try:
            status = main([str(word) for word in words])
        except SystemExit as ended:
            status = ended.code
        return Ran(status, *capsys.readouterr())

    return run
