import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oomedic.edits.secret_lines import secret_lines
from oomedic.manifest import read_workloads
from oomedic.patches.patching import manifest_patch
from oomedic.remedy import Change
from oomedic.sources.builtin import load

TABLE = load().arguments
SECRET = "plain-secret-words"
HEAD = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  template:
    spec:
      containers:
        - name: engine
          image: vllm/vllm-openai:v0.11.0
"""


def manifest(*lines):
    return HEAD + "".join(f"          {line}\n" for line in lines)


def patch(text, target="max_model_len", after=8192, path="deployment.yaml"):
    (workload,) = read_workloads(text, path, TABLE)
    return manifest_patch({path: text}, workload, [Change(target, None, after, "FIX101")], TABLE)


def plain(text):
    return patch(text).text


def test_a_diff_shows_three_lines_around_the_change():
    text = manifest("args:", "- --model=org/chat", "- --max-model-len=32768 # long", "- --port=80", "resources: {}")
    assert plain(text) == (
        "--- a/deployment.yaml\n+++ b/deployment.yaml\n@@ -9,6 +9,6 @@\n"
        "           image: vllm/vllm-openai:v0.11.0\n           args:\n           - --model=org/chat\n"
        "-          - --max-model-len=32768 # long\n+          - --max-model-len=8192 # long\n"
        "           - --port=80\n           resources: {}\n"
    )


@pytest.mark.parametrize("path", ["deployment.yaml", "apps/base/deployment.yaml"])
@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("break_", ["\n", "\r\n"])
def test_git_applies_the_diff(tmp_path, path, end, break_):
    text = manifest('args: ["--model=org/chat", "--max-model-len", "32768"]').rstrip("\n").replace("\n", break_) + end
    file = tmp_path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    found = patch(text, path=path)
    applied = subprocess.run(
        ["git", "apply", "-"], cwd=tmp_path, input=found.text.encode(), capture_output=True, check=False
    )
    assert applied.returncode == 0, applied.stderr
    assert file.read_bytes() == text.replace("32768", "8192").encode()


def test_an_absolute_path_is_written_as_seen_from_the_root():
    text = manifest('args: ["--model=org/chat", "--max-model-len=32768"]')
    assert patch(text, path="/srv/deployment.yaml").text.startswith(
        "--- a/srv/deployment.yaml\n+++ b/srv/deployment.yaml\n"
    )


def test_the_gpus_that_are_requested_move_with_the_ranks():
    text = manifest(
        'args: ["--model=org/chat", "--tensor-parallel-size=1"]', "resources: {limits: {nvidia.com/gpu: 1}}"
    )
    found = patch(text, "tensor_parallel_size", 4).text
    assert '"--tensor-parallel-size=4"' in found
    assert "nvidia.com/gpu: 4" in found


def test_what_a_person_must_do_is_no_patch():
    text = manifest('args: ["--model=org/chat"]')
    assert patch(text, "manual") is None
    assert patch(text, "env.VLLM_USE_V1", "1") is None


@pytest.mark.parametrize(
    "lines",
    [
        ("args:", "- --model=org/chat", "- --max-model-len=32768", "- --api-key", f"- {SECRET}"),
        ("args:", "- --model=org/chat", "- --api-key", f'- "{SECRET}" # change me', "- --max-model-len=32768"),
        ("args:", "- --model=org/chat", f"- --api-key={SECRET}", "- --max-model-len=32768"),
        ("env:", "- name: HF_TOKEN", f"  value: {SECRET}", "args:", "- --model=org/chat", "- --max-model-len=32768"),
        ("env:", f"- value: {SECRET}", "  name: HF_TOKEN", "args:", "- --model=org/chat", "- --max-model-len=32768"),
        ("env:", f"- {{name: HF_TOKEN, value: {SECRET}}}", "args:", "- --model=org/chat", "- --max-model-len=32768"),
        (
            "args:",
            "- --max-model-len=32768",
            "- --model=org/chat",
            "env:",
            "- name: API_KEY",
            "  value: |",
            f"    {SECRET}",
        ),
        (f'args: ["--model=org/chat", "--api-key", "{SECRET}", "--max-model-len=32768"]',),
        ("command: [sh, -c]", "args:", f"- vllm serve org/chat --api-key {SECRET} --max-model-len 32768"),
    ],
)
def test_no_secret_stands_in_a_diff(lines):
    found = plain(manifest(*lines))
    assert SECRET not in found
    assert "8192" in found


def test_lines_around_a_secret_are_shown_as_far_as_they_hold_none(tmp_path):
    text = manifest(
        "args:", "- --api-key", f"- {SECRET}", "- --model=org/chat", "- --max-model-len=32768", "- --port=1"
    )
    found = plain(text)
    assert "           - --model=org/chat\n" in found
    (tmp_path / "deployment.yaml").write_text(text)
    applied = subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=found.encode(), check=False)
    assert applied.returncode == 0


@given(st.text(max_size=300))
def test_lines_of_any_text_can_be_judged(text):
    assert secret_lines(text) <= set(range(text.count("\n") + 1))


def test_only_lines_with_secrets_are_kept_back():
    text = manifest(
        "env:", "- name: VLLM_USE_V1", '  value: "1"', "- name: HF_TOKEN", "  valueFrom: {}", "- name: A", "  value: b"
    )
    kept_back = {text.split("\n")[number].strip() for number in secret_lines(text)}
    assert kept_back == {"- name: HF_TOKEN", "valueFrom: {}"}
