"""What a command loads before it answers: start-up time is a feature, and imports are most of it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parent.parent / "examples/llama-scout-g5"
LOADED = """\
import json, sys
sys.argv = ["oomedic", *sys.argv[1:]]
from oomedic.entrypoints.cli import main
try:
    main()
except SystemExit:
    pass
sys.stdout.flush()
print()
print(json.dumps(sorted(sys.modules)))
"""
HEAVY = {"yaml", "urllib", "urllib.request", "difflib", "tomllib", "ahocorasick_rs", "dataclasses", "inspect", "shutil"}
EXTRAS = {"kr8s", "kubernetes", "kopf", "httpx", "anyio", "asyncio", "boto3", "botocore", "rich", "pydantic", "click"}
NEVER_SO_EARLY = {"typing", "pathlib"}
"""Each of them takes as long as a tenth of Python's own start."""


def loaded(*words):
    """The modules that a process has loaded when a command has answered."""
    ran = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{LOADED}", *map(str, words)],
        capture_output=True,
        text=True,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    return set(json.loads(ran.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "words", [("explain", "OOM401"), ("explain", "FIX101", "-o", "markdown"), ("--version",), ("--help",)]
)
def test_explain_and_help_load_nothing_heavy(words):
    assert not loaded(*words) & (HEAVY | EXTRAS)


def test_explain_imports_neither_causes_nor_catalogue():
    own = {name for name in loaded("explain", "OOM401") if name.startswith("oomedic.")}
    assert not {name for name in own if name.startswith(("oomedic.causes", "oomedic.remedies", "oomedic.pipeline"))}
    assert "oomedic.catalogue" not in own
    assert len(own) <= 15


def test_explain_does_without_what_other_programs_load_first():
    assert not loaded("explain", "OOM401") & NEVER_SO_EARLY


def test_a_diagnosis_of_a_log_reads_no_yaml_and_asks_no_hub():
    found = loaded("diagnose", "--logs", EXAMPLE / "previous-kv-cache.log")
    assert not found & {"yaml", "urllib", "urllib.request", "difflib", "tomllib", "dataclasses", "inspect"}
    assert not found & EXTRAS


def test_a_diagnosis_with_a_manifest_loads_no_extra():
    log, manifest = EXAMPLE / "previous-kv-cache.log", EXAMPLE / "deployment.yaml"
    found = loaded("diagnose", "--offline", "--logs", log, "--manifest", manifest)
    assert "yaml" in found
    assert not found & (EXTRAS | {"urllib.request", "tomllib", "dataclasses", "inspect"})


def test_a_budget_reads_neither_log_nor_manifest():
    found = loaded("budget", "--weights", "9GB", "--gpu-memory", "24GB")
    assert not found & (HEAVY | EXTRAS)


def test_only_the_causes_that_can_apply_are_loaded():
    found = loaded("diagnose", "--logs", EXAMPLE / "previous-kv-cache.log")
    causes = {name for name in found if name.startswith("oomedic.causes.")}
    assert "oomedic.causes.kv_cache_too_small" in causes
    assert len(causes) < 20


def test_the_library_is_as_quick_to_import():
    code = "import sys, oomedic; print([name for name in sys.modules if name.startswith('oomedic.')])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


OPENED = """\
import json, os, sys
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
sys.argv = ["oomedic", *sys.argv[1:]]
from oomedic.entrypoints.cli import main
main()
sys.stdout.flush()
print()
print(json.dumps(sorted({os.path.basename(path) for path in opened if os.sep + "index" + os.sep in path})))
"""


def read(*words):
    """The files of the index that a process reads."""
    command = [sys.executable, "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{OPENED}", *words]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    return json.loads(ran.stdout.splitlines()[-1])


def test_english_reads_nothing_of_a_translation():
    assert read("explain", "OOM401") == ["pages.json"]
    assert not loaded("explain", "OOM401") & {"babel", "oomedic.entrypoints.help_texts"}


def test_another_language_reads_compiled_texts_alone():
    assert read("explain", "OOM401", "--lang", "pl") == ["headings.pl.json", "help.pl.json", "pages.pl.json"]
    assert not loaded("explain", "OOM401", "--lang", "pl") & (HEAVY | EXTRAS | NEVER_SO_EARLY | {"babel"})
