import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TOOLS = ROOT / "tools"


@pytest.fixture(scope="module", autouse=True)
def _tools_can_be_imported():
    sys.path.insert(0, str(TOOLS))
    yield
    sys.path.remove(str(TOOLS))


def tool(name):
    spec = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_index_is_what_its_sources_say():
    check = subprocess.run(
        [sys.executable, TOOLS / "build_index.py", "--check"], capture_output=True, text=True, check=False
    )
    assert check.returncode == 0, check.stdout


def test_building_twice_gives_the_same_bytes():
    build = tool("build_index").build
    assert build() == build()


def test_models_are_sorted_and_one_line_each():
    text = tool("build_index").models().decode()
    keys = [line.partition("\t")[0] for line in text.splitlines()[1:]]
    assert keys == sorted(set(keys))
    assert text.startswith("#")
    assert all(json.loads(line.partition("\t")[2]) for line in text.splitlines()[1:])


def test_every_moved_repository_leads_to_a_model():
    rows = dict(line.split("\t", 1) for line in tool("build_index").models().decode().splitlines()[1:])
    moved = [json.loads(row)["moved_to"] for row in rows.values() if row.startswith('{"moved_to"')]
    assert len(moved) > 7
    assert all("config" in json.loads(rows[new.lower()]) for new in moved)


@pytest.mark.parametrize("folder", ["models", "signatures", "engines"])
def test_a_folder_that_is_not_there_is_empty(tmp_path, monkeypatch, folder):
    builder = tool("build_index")
    monkeypatch.setattr(builder, "DATA", tmp_path)
    monkeypatch.setattr(builder, "SOURCE", tmp_path)
    assert not (tmp_path / folder).exists()
    assert builder.build()["signatures.json"] == b"[]\n"


def test_engine_versions_are_ordered_by_number(tmp_path, monkeypatch):
    builder = tool("build_index")
    monkeypatch.setattr(builder, "DATA", tmp_path)
    (tmp_path / "engines").mkdir()
    for version in ("0.10.0", "0.9.2", "0.9.10"):
        (tmp_path / f"engines/{version}.toml").write_text("x = 1\n")
    assert [row["version"] for row in builder.engines()] == ["0.9.2", "0.9.10", "0.10.0"]


def test_a_difference_names_what_came_went_and_changed():
    difference = tool("build_index").difference
    assert difference(b'{"a":1,"b":2}', b'{"b":3,"c":4}') == "+1 (c), -1 (a), ~1 (b)"
    assert difference(b"x/a\t{}\n", b"x/a\t{}\nx/b\t{}\n") == "+1 (x/b)"


PAGE = '''"""The title.

An introduction
of two lines.

What you see
------------
A line.

    an example: with a colon

Says
----
short: Needs {needed:gib}.
long: The first half
    and the second.
"""

from somewhere import cause


@cause("OOM499", "a-name", helps=("FIX101",), reads=("torch_out_of_memory",))
def match(evidence):
    return None
'''


def test_a_page_is_read_from_a_docstring_without_importing_it(tmp_path):
    path = tmp_path / "a_cause.py"
    path.write_text(PAGE)
    page = tool("pages").read_page(path, "cause")
    assert (page["code"], page["name"], page["kind"], page["title"]) == ("OOM499", "a-name", "cause", "The title.")
    assert page["intro"] == "An introduction\nof two lines."
    assert page["sections"] == {"What you see": "A line.\n\n    an example: with a colon"}
    assert page["says"] == {"short": "Needs {needed:gib}.", "long": "The first half and the second."}
    lists = {"helps": ["FIX101"], "reads": ["torch_out_of_memory"], "useless": [], "worsens": [], "narrows": []}
    assert page["arguments"] == lists


def test_lists_that_are_built_from_other_modules_are_what_the_module_binds():
    path = ROOT / "src/oomedic/causes/weights_exceed_gpu.py"
    assert "*EXHAUSTION" in path.read_text()
    reads = tool("pages").read_page(path, "cause")["arguments"]["reads"]
    assert "torch_out_of_memory" in reads
    assert all(isinstance(name, str) and "*" not in name for name in reads)


def test_a_module_without_a_code_has_no_page(tmp_path):
    path = tmp_path / "__init__.py"
    path.write_text('"""A package."""\n')
    assert tool("pages").read_page(path, "cause") is None


def test_folding_module_names_loses_none():
    unfolded = pytest.importorskip("oomedic.models.table").unfolded
    names = [f"model.layers.{layer}.mlp.experts.{expert}.w1" for layer in range(3, 60) for expert in range(128)]
    names += ["lm_head", "model.layers.7.self_attn.q_proj", "re:.*gate$"]
    folded = tool("module_lists").fold_names(names)
    assert len(folded) == 4
    assert sorted(unfolded(folded)) == sorted(names)


def test_the_gpu_file_survives_a_merge_of_no_facts(tmp_path):
    facts = tmp_path / "facts.json"
    facts.write_text('{"gpus": [], "mig_profiles": []}')
    run = subprocess.run([sys.executable, TOOLS / "refresh_gpus.py", facts], capture_output=True, text=True, check=True)
    assert run.stdout == "nothing changes\n"
