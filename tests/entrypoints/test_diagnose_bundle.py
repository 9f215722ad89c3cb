"""`oomedic diagnose` of folders and archives of evidence, however their files are named."""

import gzip
import io
import json
import shutil
import tarfile
from pathlib import Path

import pytest

from oomedic.entrypoints.cli import main

SAMPLES = Path(__file__).parent.parent / "observed/samples"
CRASH = """INFO 10-12 09:05:12 [api_server.py:1839] vLLM API server version 0.11.0
INFO 10-12 09:05:20 [gpu_model_runner.py:2602] Starting to load model Qwen/Qwen2.5-7B-Instruct...
ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`.
"""
STARTING = CRASH.rpartition("ValueError")[0]
DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata: {name: vllm-llama, namespace: inference}
spec:
  template:
    spec:
      containers:
        - name: vllm
          image: vllm/vllm-openai:v0.11.0
          args: [--model, Qwen/Qwen2.5-7B-Instruct, --max-model-len, "8192"]
          resources: {limits: {nvidia.com/gpu: 1}}
"""


@pytest.fixture
def bundle(tmp_path):
    """A folder as people collect it: names say little."""
    folder = tmp_path / "bundle"
    (folder / "more").mkdir(parents=True)
    for source, target in (("pod.yaml", "a"), ("events.txt", "more/b.out"), ("nvidia-smi.txt", "c.log")):
        shutil.copy(SAMPLES / source, folder / target)
    (folder / "d").write_text(DEPLOYMENT, encoding="utf-8")
    (folder / "current.txt").write_text(STARTING, encoding="utf-8")
    (folder / "vllm-previous.txt.gz").write_bytes(gzip.compress(CRASH.encode()))
    (folder / "README").write_text("collected by hand\n", encoding="utf-8")
    (folder / ".hidden").write_text("\0\1\2", encoding="utf-8")
    return folder


def diagnosed(capsys, *words):
    status = main(["diagnose", *map(str, words), "--offline", "-o", "json"])
    captured = capsys.readouterr()
    return status, json.loads(captured.out) if captured.out else captured.err


def archive_of(folder, mode):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode) as archive:
        archive.add(folder, arcname="bundle")
    path = folder.parent / "evidence"
    path.write_bytes(packed.getvalue())
    return path


def told(report):
    """What a report says of each life: its findings, its engine, where its remarks come from."""
    return [
        (
            [finding["code"] for finding in result["diagnosis"]["findings"]],
            result["subject"]["unit"],
            sorted({note["where"].rpartition("/")[2].partition(":")[0] for note in result["notes"]}),
        )
        for result in report["results"]
    ]


def test_a_folder_is_told_apart_by_content(bundle, capsys):
    status, report = diagnosed(capsys, bundle)
    assert status == 1
    first, *_ = told(report)
    assert first[0][0] == "OOM402"
    assert first[1] == "Deployment/vllm-llama#vllm"
    assert first[2] == ["a", "c.log"]


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_an_archive_says_the_same_as_its_folder(bundle, capsys, mode):
    expected = told(diagnosed(capsys, bundle)[1])
    assert told(diagnosed(capsys, archive_of(bundle, mode))[1]) == expected


def test_files_one_by_one_say_the_same_as_their_folder(bundle, capsys):
    expected = told(diagnosed(capsys, bundle)[1])
    names = ("current.txt", "a", "more/b.out", "c.log", "d", "vllm-previous.txt.gz")
    assert told(diagnosed(capsys, *(bundle / name for name in names))[1]) == expected


def test_named_files_say_the_same(bundle, capsys):
    expected = told(diagnosed(capsys, bundle)[1])
    words = ("--pod", "a", "--events", "more/b.out", "--nvidia-smi", "c.log", "--manifest", "d")
    logs = ("--logs", "vllm-previous.txt.gz", "--logs", "current.txt")
    given = [word if word.startswith("--") else bundle / word for word in (*words, *logs)]
    assert told(diagnosed(capsys, *given)[1]) == expected


def test_a_log_without_a_word_of_the_engine_is_no_result_of_its_own(bundle, capsys):
    (bundle / "other.log").write_text("GET /health 200\n" * 5, encoding="utf-8")
    assert len(diagnosed(capsys, bundle)[1]["results"]) == 2


def test_standard_input_is_told_by_content_too(monkeypatch, capsys):
    text = (SAMPLES / "describe-pod.txt").read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    status, report = diagnosed(capsys, "-")
    assert (status, told(report)[0][0][0]) == (1, "HOST101")


def test_an_archive_that_is_broken_gives_one_clear_error(bundle, capsys):
    path = archive_of(bundle, "w")
    path.write_bytes(path.read_bytes()[:1500])
    status, message = diagnosed(capsys, path)
    assert status == 2
    assert "cannot be unpacked" in message


def test_a_secret_in_a_bundle_reaches_no_output(bundle, capsys):
    for output in ("text", "json", "yaml", "markdown"):
        main(["diagnose", str(bundle), "--offline", "-o", output])
        assert "CANARY" not in capsys.readouterr().out


def test_a_pod_file_that_is_none_is_refused(tmp_path, capsys):
    path = tmp_path / "pod.json"
    path.write_text('{"apiVersion": "v1", "kind": "Pod"', encoding="utf-8")
    status, message = diagnosed(capsys, "--pod", path)
    assert status == 2
    assert "pod.json" in message
