"""Other crashes of the real engine, each named from its own log."""

import socket

import pytest
from rig.model import write_model

pytestmark = pytest.mark.engine
SHORT = {"max_model_len": 1024, "enforce_eager": True}


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--max-model-len", "2000000"], "CFG105"),
        (["--quantization", "awq"], "CFG103"),
        (["--tensor-parallel-size", "3"], "CFG102"),
        (["--max-modell-len", "1024"], "CFG110"),
    ],
)
def test_what_the_engine_refuses_of_its_command_line_is_named(words, code, start, tiny, diagnose):
    status, log = start(f"refused-{code}", {}, serve=[str(tiny), *words])
    assert status != 0
    assert first(diagnose(log)) == code


def test_a_model_that_is_not_there_is_named(start, diagnose):
    status, log = start("absent", {}, serve=["/models/absent"])
    assert status == 1
    assert first(diagnose(log)) == "POD103"


def test_a_port_that_is_taken_is_named(start, tiny, diagnose):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        status, log = start("port", {}, serve=[str(tiny), "--host", "127.0.0.1", "--port", port])
    assert status == 1
    assert first(diagnose(log)) == "POD108"


def test_a_weights_file_that_was_cut_off_is_named(start, diagnose, tmp_path):
    model = write_model(tmp_path / "cut")
    weights = model / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])
    status, log = start("cut", {"VLLM_CPU_KVCACHE_SPACE": "1"}, engine={"model": str(model), **SHORT})
    assert status == 1
    assert first(diagnose(log)) == "CFG112"


def test_a_cache_larger_than_the_host_is_named(start, tiny, diagnose):
    status, log = start("host", {"VLLM_CPU_KVCACHE_SPACE": "4000"}, engine={"model": str(tiny), **SHORT})
    assert status == 1
    assert first(diagnose(log)) == "HOST105"


def first(result):
    return next((finding["code"] for finding in result["diagnosis"]["findings"]), None)
