from pathlib import Path

import pytest

from oomedic.observed.recognition import kind_of_file

TESTS = Path(__file__).parent.parent
SAMPLES = TESTS / "observed/samples"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("pod.yaml", "objects"),
        ("describe-pod.txt", "describe"),
        ("describe-node.txt", "describe"),
        ("events.txt", "events"),
        ("nvidia-smi.txt", "nvidia-smi"),
        ("nvidia-smi-q.txt", "nvidia-smi"),
        ("dcgm.txt", "dcgm"),
    ],
)
def test_content_tells_what_a_file_is_whatever_its_name(name, kind):
    text = (SAMPLES / name).read_text(encoding="utf-8")
    for name_of_file in ("x", "x.log", "x.txt", "x.yaml"):
        assert kind_of_file(name_of_file, text) == kind


@pytest.mark.parametrize(
    "path", [path for path in sorted((TESTS / "manifests").glob("*.yaml")) if "values" not in path.name]
)
def test_every_sample_of_a_manifest_is_one(path):
    assert kind_of_file("x", path.read_text(encoding="utf-8")[:65536]) == "manifest"


def test_values_of_a_chart_are_told_by_their_ending():
    for path in (TESTS / "manifests").glob("*values*.yaml"):
        assert kind_of_file(path.name, path.read_text(encoding="utf-8")[:65536]) == "manifest"


def test_every_real_log_is_a_log(real_logs):
    for name, content in real_logs.items():
        assert kind_of_file(name, content[:65536].decode("utf-8", "replace")) == "log", name


def test_the_excerpt_of_every_recorded_crash_is_a_log_or_a_description(crash_cases):
    kinds = {kind_of_file("x", "\n".join(case["log_excerpt"])) for case in crash_cases}
    assert kinds <= {"log", "nvidia-smi"}


ENGINE = "INFO 10-12 09:05:12 [api_server.py:1839] vLLM API server version 0.11.0\n"


@pytest.mark.parametrize("name", ["nvidia-smi.txt", "events.txt", "describe-pod.txt"])
def test_a_log_that_follows_something_else_in_one_file_is_a_log(name):
    text = (SAMPLES / name).read_text(encoding="utf-8")
    assert kind_of_file("x", text + ENGINE) == "log"


def test_a_description_that_quotes_the_end_of_a_log_stays_one():
    text = (SAMPLES / "describe-pod.txt").read_text(encoding="utf-8")
    assert (
        kind_of_file("x", text.replace("      Exit Code:", f"      Message:  {ENGINE}      Exit Code:")) == "describe"
    )


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"apiVersion":"v1","items":[{"apiVersion":"v1","kind":"Pod"}],"kind":"List"}', "objects"),
        ('{"apiVersion": "v1", "kind": "Event", "involvedObject": {"kind": "Pod"}}', "objects"),
        ('{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"ownerReferences":[{"kind":"Pod"}]}}', "manifest"),
        ("apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Pod\nkind: List\n", "objects"),
        ("apiVersion: apps/v1\nkind: Deployment\nspec:\n  x:\n    kind: Pod\n", "manifest"),
        ("# a comment\n---\nkind: Pod\napiVersion: v1\n", "objects"),
        ('{"log":"INFO vLLM API server version 0.11.0\\n","stream":"stdout"}', "log"),
        ("Name: x\nINFO 10-12 nothing\n", "log"),
        ("", "log"),
        ("INFO kind: Pod\napiVersion in a log line\n", "log"),
    ],
)
def test_kinds_by_their_content_alone(text, kind):
    assert kind_of_file("x", text) == kind
