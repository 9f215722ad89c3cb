import ast
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oomedic.redaction import HIDDEN, is_secret_name, redact

SECRET = "Zq7secretvalue9"


@pytest.mark.parametrize(
    "text",
    [
        f"vllm serve m --api-key {SECRET} --port 80",
        f"vllm serve m --api-key={SECRET}",
        f"vllm serve m --api-key other {SECRET} --port 80",
        f"vllm serve m --hf-token {SECRET}",
        f'["--api-key", "{SECRET}", "--port"]',
        f'["--api-key","{SECRET}"]',
        f"args: Namespace(api_key='{SECRET}', port=8000)",
        f"{{'api_key': ['{SECRET}', 'b'], 'port': 80}}",
        f'{{"api_key": "{SECRET}"}}',
        f'{{\\"api_key\\": \\"{SECRET}\\"}}',
        f"HF_TOKEN={SECRET} vllm serve m",
        f"HUGGING_FACE_HUB_TOKEN: {SECRET}",
        f"AWS_SECRET_ACCESS_KEY={SECRET}",
        f"export OPENAI_API_KEY='{SECRET}'",
        f"Authorization: Bearer {SECRET}",
        f"curl -H 'Authorization: Bearer {SECRET}'",
        f"postgres://user:{SECRET}@host/db",
        f"https://s3.example/x?X-Amz-Signature={SECRET}&y=1",
        f"the token is hf_{SECRET}",
        f"sk-proj-{SECRET}",
        f"ghp_{SECRET}{SECRET}",
    ],
)
def test_a_secret_is_hidden_wherever_it_is_given(text):
    assert SECRET not in redact(text)
    assert HIDDEN in redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "max_num_batched_tokens=2048, tokenizer='/models/a', tokenizer_mode=auto, hf_token=None",
        "non-default args: {'model': 'Qwen/Qwen3-8B', 'max_model_len': 4096}",
        "--max-num-batched-tokens 2048 --speculative-config x",
        "hf_overrides={'a': 1}, hf_config_path=None",
        "Supported architectures: task-arithmetic-7B, risk-averse",
        "eos_token='</s>' image_token=32000",
        "GET /v1/models HTTP/1.1 http://10.0.0.1:8000/health",
    ],
)
def test_what_is_no_secret_stays_letter_by_letter(text):
    assert redact(text) == text


def test_a_redacted_dictionary_can_still_be_read():
    printed = "{'host': None, 'api_key': ['a', 'b'], 'hf_token': 'x', 'max_model_len': 4096}"
    assert ast.literal_eval(redact(printed)) == {
        "host": None,
        "api_key": [HIDDEN],
        "hf_token": HIDDEN,
        "max_model_len": 4096,
    }


def test_what_follows_a_secret_is_kept():
    assert redact("--api-key abc --port 80") == "--api-key *** --port 80"
    assert redact("api_key='abc', port=80") == "api_key='***', port=80"


@pytest.mark.parametrize(
    "name", ["--api-key", "api_key", "HF_TOKEN", "hf-token", "ssl_keyfile_password", "apiKey", "token"]
)
def test_names_of_secrets(name):
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    ["max_num_batched_tokens", "tokenizer", "ssl_keyfile", "eos_token", "key", "model", "num_gpu_blocks_override"],
)
def test_names_of_what_is_no_secret(name):
    assert not is_secret_name(name)


@given(st.text(max_size=300))
def test_redacting_twice_changes_nothing_more(text):
    once = redact(text)
    assert redact(once) == once


@given(st.text(alphabet=st.characters(codec="ascii", exclude_categories=["C"]), max_size=200))
def test_text_around_a_token_never_reveals_it(text):
    assert "hf_AbCdEf0123456789" not in redact(f"{text} hf_AbCdEf0123456789 {text}")


@pytest.mark.parametrize(
    "piece", ["a", "'", "token='", "--token a ", "://", "eyJ", "x=1 ", "[", "key=[", "sk-", "Bearer "]
)
def test_time_grows_with_the_length_only(piece):
    text = "token " + piece * (64 * 1024 // len(piece))
    start = time.perf_counter()
    redact(text)
    assert time.perf_counter() - start < 1


def test_no_event_of_any_real_log_holds_the_made_up_secrets(real_logs, signatures):
    assert any(b"sk-CANARY-123456" in raw for raw in real_logs.values())
    for name, raw in real_logs.items():
        told = repr(tuple(signatures.read([raw, b"\nvllm serve m --hf-token hf_CANARY0123456789 --port 80\n"])))
        assert not re.search(r"sk-CANARY|hf_CANARY", told), name
