"""What a manifest that has not run yet will die of, with the cause that a log would show, and a change that helps."""

import pytest

from oomedic.gathering.gather import EngineOptions
from oomedic.pipeline import diagnose_crash
from oomedic.question import Library, Log, Manifest, Question
from oomedic.sources.builtin import load

SMALL = "meta-llama/Llama-3.1-8B-Instruct"
LARGE = "meta-llama/Llama-3.3-70B-Instruct"
FP8 = "RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8"


def deployment(*args, gpus=1, version="0.10.2", env=""):
    written = "".join(f"\n            - {arg!r}" for arg in args)
    return f"""apiVersion: apps/v1
kind: Deployment
metadata: {{name: chat}}
spec:
  template:
    spec:
      containers:
        - name: vllm
          image: vllm/vllm-openai:v{version}
          env: [{env}]
          args:{written}
          resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}
"""


def judged(text, gpu="A10G", logs=()):
    question = Question(tuple(logs), (Manifest("d.yaml", text),), options=EngineOptions(gpu=gpu))
    (result,) = diagnose_crash(question, Library(load(), "test")).results
    return result


def codes(*args, gpu="A10G", **around):
    return [(found.code, found.confidence) for found in judged(deployment(*args, **around), gpu).diagnosis.findings]


def test_a_request_that_no_cache_holds_is_foreseen_and_a_shorter_one_is_put_into_the_manifest():
    # 131072 tokens x 32 layers x 2 x 8 KV heads x 128 x 2 bytes = 16 GiB, and 15 of 22 GiB are taken by weights
    result = judged(deployment(SMALL, "--max-model-len=131072"))
    (finding,) = result.diagnosis.findings
    assert (finding.code, finding.confidence, finding.phase) == ("OOM401", "likely", "kv_check")
    assert finding.because[0].parameters["needed"] == 16 * 2**30
    assert (result.outcome, result.outcome_origin) == ("crashes", "computed")
    assert result.plan.best.remedy == "FIX101"
    assert result.plan.best.after.outcome == "starts"
    (change,) = result.plan.best.changes
    assert f"+            - '--max-model-len={change.after}'\n" in result.patch.text


def test_a_configuration_that_starts_has_no_finding():
    result = judged(deployment(SMALL, "--max-model-len=8192"))
    assert (result.diagnosis.findings, result.outcome, result.plan) == ((), "starts", None)


def test_weights_that_exceed_the_card_are_foreseen():
    assert codes(LARGE)[0] == ("OOM201", "likely")
    assert codes(LARGE, gpu="H100")[0][0] == "OOM201", "131 GiB of weights on 80 GB"


def test_more_ranks_than_gpus_are_foreseen_and_as_many_as_there_are_stay_silent():
    assert ("CFG101", "certain") in codes(SMALL, "--tensor-parallel-size=2", "--max-model-len=4096")
    assert codes(SMALL, "--tensor-parallel-size=2", "--max-model-len=4096", gpus=2) == []


def test_a_length_beyond_the_models_is_foreseen_unless_it_is_expressly_allowed():
    assert ("CFG105", "certain") in codes(SMALL, "--max-model-len=200000", gpu="H200")
    allowed = "{name: VLLM_ALLOW_LONG_MAX_MODEL_LEN, value: '1'}"
    assert codes(SMALL, "--max-model-len=200000", gpu="H200", env=allowed) == []
    stretched = '--rope-scaling={"rope_type":"yarn","factor":4.0}'
    assert codes(SMALL, "--max-model-len=200000", stretched, gpu="H200") == []


def test_the_length_that_the_model_allows_is_offered_where_a_longer_one_was_asked_for():
    result = judged(deployment(SMALL, "--max-model-len=200000"), "H200")
    assert [(change.target, change.after) for change in result.plan.best.changes] == [("max_model_len", 131072)]


def test_a_length_beyond_that_of_a_model_which_is_only_named_after_it_is_possible_and_no_more():
    assert codes("/models/llama-3.1-8b-instruct", "--max-model-len=200000", gpu="H200") == [("CFG105", "possible")]


def test_a_batch_below_the_number_of_requests_is_foreseen():
    given = (SMALL, "--max-model-len=4096", "--max-num-batched-tokens=128", "--max-num-seqs=256")
    assert codes(*given) == [("CFG116", "certain")]


def test_a_batch_below_the_length_is_foreseen_where_prefill_is_not_chunked():
    given = (SMALL, "--max-model-len=4096", "--max-num-batched-tokens=2048")
    assert ("CFG116", "certain") in codes(*given, "--no-enable-chunked-prefill")
    assert codes(*given) == []


class TestTheCard:
    def test_bfloat16_is_refused_below_8_0_where_it_is_asked_for(self):
        assert ("CFG104", "certain") in codes(SMALL, "--dtype=bfloat16", gpu="T4")
        assert ("CFG104", "certain") not in codes(SMALL, "--dtype=half", gpu="T4")

    def test_a_checkpoint_in_bfloat16_is_refused_until_0_9_0_and_computed_in_float16_since(self):
        assert ("CFG104", "certain") in codes(SMALL, gpu="T4", version="0.9.0")
        assert ("CFG104", "certain") not in codes(SMALL, gpu="T4", version="0.9.1")

    def test_a_format_of_weights_that_the_card_lacks_kernels_for_is_refused(self):
        # get_min_capability of fp8 is 80 in 0.10
        assert ("CFG104", "certain") in codes(FP8, gpu="T4")
        assert codes(FP8, "--max-model-len=4096", gpu="A10G") == []

    def test_a_cache_in_e4m3_needs_8_9(self):
        given = (SMALL, "--max-model-len=4096", "--kv-cache-dtype=fp8")
        assert codes(*given, gpu="A10G") == [("CFG104", "likely")]
        assert codes(*given, gpu="L4") == []


class TestTheCommandLine:
    def test_an_argument_that_no_release_knows_is_refused(self):
        assert codes(SMALL, "--max-model-len=4096", "--enforce-eagre") == [("CFG110", "certain")]

    def test_it_is_not_called_refused_where_another_program_reads_the_arguments(self):
        text = deployment("--model", SMALL, "--max-model-len=4096", "--is-decode-worker")
        text = text.replace("          args:", "          command: [python3, -m, dynamo.vllm]\n          args:")
        assert judged(text).diagnosis.findings == ()

    @pytest.mark.parametrize(("version", "found"), [("0.8.4", []), ("0.8.5", [("CFG110", "certain")])])
    def test_a_switch_takes_no_value_since_it_is_argparses_own(self, version, found):
        given = (SMALL, "--max-model-len=4096", "--max-num-seqs=16", "--enable-chunked-prefill=true")
        assert codes(*given, version=version) == found

    def test_a_share_above_one_and_no_rank_at_all_are_refused(self):
        given = (SMALL, "--max-model-len=4096")
        assert ("CFG111", "certain") in codes(*given, "--gpu-memory-utilization=1.2")
        assert ("CFG111", "certain") in codes(*given, "--tensor-parallel-size=0")


class TestAbsurdNumbers:
    """Whatever stands in a manifest, the answer comes at once."""

    def test_more_ranks_than_any_cluster_has_are_refused_with_numbers_that_divide(self):
        result = judged(deployment(SMALL, "--tensor-parallel-size=99999999999999999999"))
        assert "CFG101" in [found.code for found in result.diagnosis.findings]

    def test_a_negative_length_is_refused_and_the_one_that_asks_for_the_longest_is_not(self):
        assert ("CFG111", "certain") in codes(SMALL, "--max-model-len=-5", version="0.20.0")
        assert codes(SMALL, "--max-model-len=-1", version="0.20.0") == []

    @pytest.mark.parametrize("name", ["cpu-offload-gb", "kv-offloading-size", "swap-space", "gpu-memory-utilization"])
    def test_sizes_beyond_any_machine_end_in_no_accident(self, name):
        assert judged(deployment(SMALL, f"--{name}=1e300", version="0.20.0")).outcome in {
            "starts",
            "crashes",
            "unknown",
        }

    @pytest.mark.parametrize("name", ["max-model-len", "max-num-seqs", "max-num-batched-tokens", "block-size"])
    def test_counts_beyond_any_float_end_in_no_accident(self, name):
        digits = "9" * 400
        assert judged(deployment(SMALL, f"--{name}={digits}", version="0.10.2")).outcome in {
            "starts",
            "crashes",
            "unknown",
        }


def test_where_a_log_is_given_nothing_is_foreseen():
    text = deployment(SMALL, "--max-model-len=131072", "--enforce-eagre")
    log = Log("log", [b"INFO 01-01 00:00:00 [api_server.py:1] Application startup complete.\n"])
    assert judged(text, logs=(log,)).diagnosis.findings == ()
