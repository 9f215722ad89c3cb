"""What changed since it worked, and what that takes of the memory."""

import json
import re

import pytest

import oomedic
from oomedic.entrypoints.cli import main
from oomedic.units import GIB

DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata: {name: vllm}
spec:
  template:
    spec:
      nodeSelector: {node.kubernetes.io/instance-type: INSTANCE}
      containers:
        - name: vllm
          image: vllm/vllm-openai:vVERSION
          args: ARGS
          resources: {limits: {nvidia.com/gpu: 1}}
"""
# Qwen2.5-7B keeps 28 layers x 2 x 4 KV heads x 128 x 2 bytes = 57,344 bytes for each token
TOKEN = 57344


def deployment(*args, model="Qwen/Qwen2.5-7B-Instruct", version="0.11.0", instance="g5.xlarge"):
    words = json.dumps(["--model", model, *args])
    return DEPLOYMENT.replace("ARGS", words).replace("VERSION", version).replace("INSTANCE", instance)


def compared(before, after, **given):
    return oomedic.diagnose(manifest=after, before=before, offline=True, **given).results[0]


def said(result):
    """What a result says about changes: in the proof of its first finding, else among its remarks."""
    because = result.diagnosis.findings[0].because if result.diagnosis.findings else ()
    claims = (*because, *result.notes)
    return {claim.message: claim.parameters for claim in claims if claim.message.startswith("before.")}


SHORT = ("--max-model-len", "8192", "--gpu-memory-utilization", "0.75")
LONG = ("--max-model-len", "32768", "--gpu-memory-utilization", "0.75")


def test_the_change_that_broke_it_is_named_with_what_it_lacks():
    result = compared(deployment(*SHORT), deployment(*LONG))
    assert (result.outcome, result.phase) == ("crashes", "kv_check")
    parameters = said(result)["before.broke-cache"]
    assert (parameters["argument"], parameters["before"], parameters["after"]) == ("max_model_len", 8192, 32768)
    available = result.assessment.budget.available.value
    assert parameters["missing"] == 32768 * TOKEN - available


def test_of_several_changes_only_the_one_that_broke_it_is_blamed():
    result = compared(deployment(*SHORT, "--max-num-seqs", "256"), deployment(*LONG, "--max-num-seqs", "128"))
    assert said(result)["before.broke-cache"]["argument"] == "max_model_len"
    assert said(result)["before.changed"]["argument"] == "max_num_seqs"


def test_weights_that_grew_are_named_with_what_they_take():
    small, large = "Qwen/Qwen2.5-7B-Instruct", "Qwen/Qwen2.5-14B-Instruct"
    result = compared(deployment("--max-model-len", "4096"), deployment("--max-model-len", "4096", model=large))
    parameters = said(result)["before.broke"]
    assert (parameters["argument"], parameters["before"], parameters["after"]) == ("model", small, large)
    # 14.77 and 7.62 billion parameters of two bytes each
    assert parameters["cost"] == pytest.approx((14.77e9 - 7.62e9) * 2, rel=0.1)


def test_another_card_is_a_change_too():
    after = deployment("--max-model-len", "4096", instance="g4dn.xlarge")
    parameters = said(compared(deployment("--max-model-len", "4096"), after))
    (blamed,) = [each for message, each in parameters.items() if message.startswith("before.broke")]
    assert (blamed["argument"], blamed["before"], blamed["after"]) == ("gpu", "NVIDIA A10G", "Tesla T4")


def test_a_change_of_the_release_alone_is_named():
    result = compared(deployment(*SHORT, version="0.10.2"), deployment(*SHORT, version="0.11.0"))
    assert said(result)["before.only"] == {"argument": "vllm", "before": "0.10.2", "after": "0.11.0"}


def test_nothing_changed_is_said_as_well():
    assert said(compared(deployment(*SHORT), deployment(*SHORT))) == {"before.same": {}}


def test_arguments_of_the_server_around_the_engine_are_no_change():
    after = deployment(*SHORT, "--port", "9000", "--served-model-name", "x", "--api-key", "sk-CANARY12345")
    assert set(said(compared(deployment(*SHORT), after))) == {"before.same"}


def test_beside_a_finding_the_change_is_part_of_its_proof():
    log = (
        "INFO 10-12 09:00:05 [api_server.py:1839] vLLM API server version 0.11.0\n"
        "ValueError: To serve at least one request with the models's max seq len (32768), (1.75 GiB KV cache is "
        "needed, which is larger than the available KV cache memory (1.55 GiB). Based on the available memory, the "
        "estimated maximum model length is 28944. Try increasing `gpu_memory_utilization`.\n"
    )
    result = compared(deployment(*SHORT), deployment(*LONG), logs=log)
    assert result.diagnosis.findings[0].code == "OOM401"
    # the engine's own figures: 1.75 GiB are needed, 1.55 GiB are there
    assert said(result)["before.broke-cache"]["missing"] == pytest.approx(0.20 * GIB, abs=0.011 * GIB)


WORKED = """INFO 10-12 09:00:05 [api_server.py:1839] vLLM API server version 0.11.0
INFO 10-12 09:00:05 [utils.py:233] non-default args: {'model': 'Qwen/Qwen2.5-7B-Instruct', 'max_model_len': 8192, \
'gpu_memory_utilization': 0.75}
INFO 10-12 09:00:35 [gpu_model_runner.py:2653] Model loading took 14.2488 GiB and 3.7 seconds
INFO 10-12 09:00:50 [gpu_worker.py:298] Available KV cache memory: 1.20 GiB
INFO 10-12 09:00:51 [kv_cache_utils.py:1087] GPU KV cache size: 22,464 tokens
INFO:     Application startup complete.
"""


def test_a_log_that_worked_says_the_same_and_lends_its_figures():
    result = compared(WORKED, deployment(*LONG))
    parameters = said(result)["before.broke-cache"]
    assert (parameters["argument"], parameters["before"], parameters["after"]) == ("max_model_len", 8192, 32768)
    # 32,768 tokens take 1.75 GiB; the run that worked printed 1.20 GiB
    assert parameters["missing"] == pytest.approx(0.55 * GIB, abs=0.011 * GIB)


def test_the_command_line_says_it_in_text_and_json(tmp_path, capsys):
    for name, args in (("old.yaml", SHORT), ("new.yaml", LONG)):
        (tmp_path / name).write_text(deployment(*args), encoding="utf-8")
    words = ["diagnose", "--manifest", str(tmp_path / "new.yaml"), "--before", str(tmp_path / "old.yaml"), "--offline"]
    main(words)
    assert re.search(
        r"max_model_len 8192 → 32768 needs \d\.\d\d GiB more KV cache than is left", capsys.readouterr().out
    )
    main([*words, "-o", "json"])
    finding = json.loads(capsys.readouterr().out)["results"][0]["diagnosis"]["findings"][0]
    assert finding["code"] == "OOM401"
    said = [claim for claim in finding["because"] if claim["message"] == "before.broke-cache"]
    assert [claim["parameters"]["argument"] for claim in said] == ["max_model_len"]
