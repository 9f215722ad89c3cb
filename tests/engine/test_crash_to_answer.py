"""The whole way with a real engine: it crashes, its log is diagnosed, the change is made, and it answers."""

import re

import pytest
from rig.process import serving

pytestmark = pytest.mark.engine
PRINTED = re.compile(rb"KV cache size: ([\d,]+) tokens, Maximum concurrency for ([\d,]+) tokens per request: ([\d.]+)x")


def test_a_crash_on_the_kv_cache_becomes_an_answer(vllm, tiny, diagnose, tmp_path):
    with serving(vllm, tiny, tmp_path / "crash.log", "--enforce-eager") as crashing:
        assert crashing.process.wait(timeout=300) == 1
    crashed = diagnose(crashing.log.read_bytes(), "--model", tiny)
    assert crashed["diagnosis"]["findings"][0]["code"] == "OOM401"
    assert crashed["diagnosis"]["findings"][0]["confidence"] == "certain"
    assert crashed["phase"] == "kv_check"

    planned = crashed["plan"]
    with serving(vllm, tiny, tmp_path / "changed.log", "--enforce-eager", *arguments(planned["changes"])) as served:
        log = served.log_when_ready(seconds=300)
        answer = served.complete("A pod that crash-loops", tokens=8)
    assert answer["usage"]["completion_tokens"] == 8

    tokens, length, concurrency = PRINTED.search(log).groups()
    predicted = planned["after"]["kv_cache"]
    assert predicted["tokens"] == int(tokens.replace(b",", b""))
    assert f"{predicted['max_concurrency']:.2f}" == concurrency.decode()
    assert planned["changes"][0]["after"] == int(length.replace(b",", b""))

    started = diagnose(log, "--model", tiny)
    assert started["outcome"] == "starts"
    assert started["diagnosis"]["findings"] == []


def arguments(changes):
    """Return the words that make the planned changes."""
    return [word for change in changes for word in (f"--{change['target'].replace('_', '-')}", str(change["after"]))]
