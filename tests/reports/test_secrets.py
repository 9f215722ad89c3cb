"""No secret of a manifest, a command line, a variable or a log reaches an output, whatever its format."""

import pytest

ENV, ARGUMENT, LOGGED, GIVEN = "canaryInEnv7", "canaryInArgs7", "canaryInLog7", "canaryOnCommandLine7"
SHAPED = "hf_CANARY0123456789abcdef"
CANARIES = (ENV, ARGUMENT, LOGGED, GIVEN, SHAPED)

MANIFEST = f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: chat, namespace: llm}}
spec:
  template:
    spec:
      containers:
        - name: engine
          image: vllm/vllm-openai:v0.10.2
          env:
            - name: HF_TOKEN
              value: {SHAPED}
            - name: VLLM_API_KEY
              value: {ENV}
          args:
            - --model=meta-llama/Llama-3.1-8B-Instruct
            - --api-key
            - {ARGUMENT}
            - --max-model-len=131072
            - --hf-token={ARGUMENT}
          resources: {{limits: {{nvidia.com/gpu: 1}}}}
"""
LOG = f"""\
INFO 10-12 09:00:01 [api_server.py:1896] vLLM API server version 0.10.2
INFO 10-12 09:00:01 [utils.py:326] non-default args: {{'model': 'meta-llama/Llama-3.1-8B-Instruct', 'api_key': ['{LOGGED}'], 'hf_token': '{SHAPED}'}}
(EngineCore_DP0 pid=9) ERROR ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB KV cache is needed, which is larger than the available KV cache memory (4.51 GiB). Based on the available memory, the estimated maximum model length is 36928. Authorization: Bearer {SHAPED}
"""  # noqa: E501 - lines as the engine prints them
UNKNOWN = f"Traceback (most recent call last):\nRuntimeError: something else, api_key='{LOGGED}' token={SHAPED}\n"
FORMATS = ["text", "json", "yaml", "markdown"]
LLAMA = ("--", "vllm", "serve", "meta-llama/Llama-3.1-8B-Instruct", "--api-key", GIVEN, f"--hf-token={GIVEN}")


@pytest.fixture
def files(tmp_path):
    for name, text in {"deployment.yaml": MANIFEST, "previous.log": LOG, "unknown.log": UNKNOWN}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def clean(ran):
    return not [canary for canary in CANARIES if canary in ran.out or canary in ran.err]


@pytest.mark.parametrize("output", FORMATS)
@pytest.mark.parametrize("verbose", [(), ("-v",)])
def test_a_diagnosis_shows_none(oomedic, files, output, verbose):
    found = oomedic(
        "diagnose", "--logs", files / "previous.log", "--manifest", files / "deployment.yaml", "-o", output, *verbose
    )
    assert found.status == 1
    assert "OOM401" in found.out
    assert clean(found)


@pytest.mark.parametrize("output", FORMATS)
def test_a_crash_that_is_not_recognised_shows_none(oomedic, files, output):
    found = oomedic("diagnose", "--logs", files / "unknown.log", "-o", output)
    assert found.status == 3
    assert "something else" in found.out
    assert clean(found)


@pytest.mark.parametrize("output", FORMATS)
def test_an_inspection_shows_none(oomedic, files, output):
    found = oomedic("inspect", files / "deployment.yaml", "-o", output)
    assert "131072" in found.out
    assert clean(found)


@pytest.mark.parametrize("output", FORMATS)
@pytest.mark.parametrize("command", ["budget", "diagnose"])
def test_a_command_line_and_its_variables_show_none(oomedic, output, command):
    options = ("--gpu", "A10G", "--vllm", "0.10.2", "--env", f"VLLM_API_KEY={GIVEN}", "--env", f"HF_TOKEN={SHAPED}")
    found = oomedic(command, "-v", "-o", output, *options, *LLAMA)
    assert found.out
    assert clean(found)


def test_wrong_usage_does_not_repeat_a_secret(oomedic):
    found = oomedic("diagnose", "--api-key", GIVEN, f"--hf-token={SHAPED}")
    assert found.status == 2
    assert clean(found)


def test_an_argument_that_cannot_be_read_does_not_repeat_a_secret(oomedic):
    words = ("--", "vllm", "serve", "m/m", "--max-model-len", f"token={SHAPED}", f"--unheard-of-key={GIVEN}")
    found = oomedic("budget", "--weights", "9GB", "--gpu", "A10G", *words)
    assert "--max-model-len" in found.out
    assert clean(found)


@pytest.mark.parametrize("output", FORMATS)
def test_the_canaries_of_real_logs_stay_in_them(oomedic, real_logs, tmp_path, output):
    told = {name: log for name, log in real_logs.items() if b"CANARY" in log}
    assert told
    for name, log in list(told.items()):
        path = tmp_path / name
        path.write_bytes(log)
        found = oomedic("diagnose", "--logs", path, "-v", "-o", output)
        assert "CANARY" not in found.out + found.err, name
