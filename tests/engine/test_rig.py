"""The rig itself, without an engine."""

import os
import subprocess
from pathlib import Path

import pytest
from rig.process import running


def test_a_process_and_its_children_end_with_a_test_that_fails(tmp_path):
    with (
        pytest.raises(RuntimeError, match="fails"),
        running(["sh", "-c", "sleep 60 & sleep 60"], tmp_path / "log", {}) as process,
    ):
        raise RuntimeError("the test fails")
    assert process.returncode is not None
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


def test_temporary_files_of_a_process_go_with_it(tmp_path):
    with running(["sh", "-c", "mktemp"], tmp_path / "log", {}, stdout=subprocess.PIPE) as process:
        path = process.stdout.read().decode().strip()
    assert path
    assert not Path(path).exists()
