import importlib.util
import sys
import tomllib
from pathlib import Path

import pytest

from oomedic.logs.signature import check
from oomedic.logs.signatures import Signatures

TOOLS = Path(__file__).parent.parent / "tools"
LINE = "(Worker pid=3) INFO 01-01 10:00:00 [x.py:1] The frobnicator took 2.50 GiB of 22.1 GiB in 0.5 s for 1,024 blocks"


@pytest.fixture
def tool(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(TOOLS))
    spec = importlib.util.spec_from_file_location("new_signature", TOOLS / "new_signature.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "FOLDER", tmp_path)
    return module


def made(tool, monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["new_signature.py", *words])
    return tool.main()


def test_a_sample_becomes_a_signature_that_reads_it(tool, tmp_path, monkeypatch):
    assert made(tool, monkeypatch, "frobnicator", LINE, "--kind", "figure", "--phase", "runtime") == 0
    row = {"name": "frobnicator"} | tomllib.loads((tmp_path / "frobnicator.toml").read_text())
    check(row)
    (event,) = Signatures([row]).read([LINE.encode()])
    assert event.fields["size_1"].value == round(2.5 * 2**30)
    assert (event.fields["float_3"], event.fields["int_4"]) == (0.5, 1024)
    assert row["sample"][0]["reads"]["size_2"] == "22.1 GiB"


def test_a_signature_is_never_overwritten(tool, tmp_path, monkeypatch, capsys):
    (tmp_path / "mine.toml").write_text("")
    assert made(tool, monkeypatch, "mine", LINE) == 1
    assert "is there already" in capsys.readouterr().err


def test_a_line_without_words_is_refused(tool, tmp_path, monkeypatch):
    assert made(tool, monkeypatch, "numbers", "12 34 56") == 1
    assert not list(tmp_path.iterdir())
