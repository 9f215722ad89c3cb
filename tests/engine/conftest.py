import json
import os
import subprocess
import sys

import pytest
from rig.model import WINDOWED, write_model
from rig.process import starter

PAIRS = pytest.StashKey[list]()


@pytest.fixture(scope="session")
def vllm():
    """The command ``vllm`` of a real engine."""
    command = os.environ.get("OOMEDIC_ENGINE")
    if not command:
        pytest.fail("OOMEDIC_ENGINE names no engine: `make test-engine` installs one", pytrace=False)
    return command


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """A Llama of 5 MB that claims a context of 1,048,576 tokens."""
    return write_model(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="session")
def windowed(tmp_path_factory):
    """A Gemma 3: of six layers five have a sliding window."""
    return write_model(tmp_path_factory.mktemp("models") / "windowed", **WINDOWED)


@pytest.fixture(scope="session")
def start(vllm, tmp_path_factory):
    """Start vLLM in a copy of a warm process: ``start(name, variables, serve=[…])`` or ``engine={…}``."""
    with starter(vllm, tmp_path_factory.mktemp("starts")) as warm:
        yield warm.start


@pytest.fixture
def diagnose(tmp_path):
    """Run the command line as a process on a whole log; return its only result."""

    def run(log, *options):
        path = tmp_path / "run.log"
        path.write_bytes(log)
        words = [sys.executable, "-m", "oomedic.entrypoints.cli", "diagnose", path, "--offline", "-o", "json", *options]
        ran = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
        assert ran.stderr == ""
        [result] = json.loads(ran.stdout)["results"]
        return result

    return run


@pytest.fixture(scope="session")
def pairs(request):
    """Rows of the table that stands at the end of the run."""
    return request.config.stash.setdefault(PAIRS, [])


def pytest_terminal_summary(terminalreporter, config):
    rows = config.stash.get(PAIRS, [])
    if rows:
        terminalreporter.section("KV tokens of one start, predicted from the log of another")
    for row in rows:
        terminalreporter.write_line("{:46} predicted {:>9,}  printed {:>9,}  {:+.3%}".format(*row, row[1] / row[2] - 1))
