"""The whole sequence on real input: the runbook's example twice, its arithmetic, and results in the plural."""

from pathlib import Path

import pytest

from oomedic.reports.phrases import Phrasebook
from oomedic.sources.builtin import load

EXAMPLE = Path(__file__).parent.parent / "examples/llama-scout-g5"
SCOUT = "meta-llama/Llama-4-Scout-17B-16E-Instruct"
GIB = 2**30
BANNER = "INFO 10-12 09:00:01 [api_server.py:1896] vLLM API server version {}\n"
KV = (
    "ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB KV cache is needed, "
    "which is larger than the available KV cache memory (4.51 GiB). Based on the available memory, the estimated "
    "maximum model length is 36928.\n"
)
FREE = (
    "ValueError: Free memory on device cuda:0 (9.77/22.05 GiB) on startup is less than desired GPU memory utilization "
    "(0.9, 19.84 GiB).\n"
)


@pytest.fixture
def diagnosed(oomedic):
    """Diagnose files and return the results of the JSON report."""

    def of(*words, stdin=""):
        return oomedic("diagnose", "-o", "json", *words, stdin=stdin).results

    return of


def said(result):
    """Every sentence of the first finding, joined."""
    return " ".join(claim["says"] for claim in result["diagnosis"]["findings"][0]["because"])


def offers(result):
    plan = result["plan"]
    return [offer for offer in (plan, *plan["alternatives"]) if offer["changes"]]


class TestTheRunbooksTorchError:
    """Excerpt 1: torch's message, with the manifest whose model id is not quite the real one."""

    @pytest.fixture
    def result(self, diagnosed):
        (found,) = diagnosed("--logs", EXAMPLE / "previous.log", "--manifest", EXAMPLE / "deployment.yaml")
        return found

    def test_the_cause_is_that_all_experts_must_be_on_the_gpu(self, result):
        (finding, *_) = result["diagnosis"]["findings"]
        assert (finding["code"], finding["confidence"]) == ("OOM202", "certain")
        assert "17B active but 109B parameters" in said(result)

    def test_the_nearest_known_id_is_named_and_used(self, result):
        assert f"meta-llama/Llama-4-Scout-17B-Instruct is not a known model; the nearest known id, {SCOUT}" in said(
            result
        )

    def test_the_weights_in_bf16_take_about_205_gib(self, result):
        # 108,641,793,536 parameters x 2 bytes = 202.4 GiB, and 10,485,760 rows of 128 rotary elements = 2.5 GiB
        assert result["budget"]["items"]["weights"]["value"] / GIB == pytest.approx(202.4 + 2.5, abs=0.2)

    def test_the_card_of_the_log_is_not_the_card_of_the_manifest(self, result):
        assert "23.65 GiB total: that is not an NVIDIA A10G (22.06 GiB to 22.19 GiB)" in said(result)
        assert result["budget"]["total"]["value"] == round(23.65 * GIB)
        assert result["budget"]["total"]["origin"] == "printed"

    def test_it_dies_while_it_loads_its_weights(self, result):
        assert (result["outcome"], result["outcome_origin"], result["phase"]) == ("crashes", "printed", "weights_load")
        assert result["budget"]["left"]["value"] < -150 * GIB

    def test_no_setting_of_memory_is_offered(self, result):
        offered = {change["remedy"] for offer in offers(result) for change in offer["changes"]}
        assert offered <= {"FIX201", "FIX303"}
        rejected = {each["remedy"] for each in result["plan"]["rejected"]}
        assert {"FIX101", "FIX102", "FIX103", "FIX107"} <= rejected

    def test_what_fits_is_offered_in_order_of_price(self, result):
        instances = [offer["step"].split()[0] for offer in offers(result) if offer["changes"][0]["remedy"] == "FIX303"]
        prices = {row["type"]: row.get("price", {}).get("us-east-1") for row in load().instances()}
        found = [prices[name] for name in instances]
        assert len(found) >= 2
        assert found == sorted(found)

    def test_every_offer_was_re_computed_and_starts(self, result):
        assert offers(result)
        for offer in offers(result):
            assert offer["after"]["outcome"] == "starts"
            assert offer["after"]["left"]["value"] >= 0


class TestTheRunbooksCacheError:
    """Excerpt 2: the engine got past its weights, so what it loaded cannot be that checkpoint in bf16."""

    @pytest.fixture
    def result(self, diagnosed):
        (found,) = diagnosed("--logs", EXAMPLE / "previous-kv-cache.log", "--manifest", EXAMPLE / "deployment.yaml")
        return found

    def test_the_cause_is_certain(self, result):
        (finding, *_) = result["diagnosis"]["findings"]
        assert (finding["code"], finding["confidence"]) == ("OOM401", "certain")
        assert result["phase"] == "kv_check"
        assert "can hold 8192 tokens; one request may have 32768" in said(result)

    def test_the_safe_change_is_the_length_that_the_engine_printed(self, result):
        assert result["plan"]["changes"] == [
            {"target": "max_model_len", "before": 32768, "after": 8192, "remedy": "FIX101"}
        ]
        assert (result["plan"]["safety"], result["plan"]["proof"]) == ("safe", "log:1")

    def test_the_change_of_the_manifest_keeps_its_comment(self, result):
        patch = result["patch"]["text"]
        assert '\n-            - "32768" # long documents\n+            - "8192" # long documents\n' in patch
        assert (patch.count("\n-"), patch.count("\n+")) == (1, 2)  # one line, and the new name of the file

    def test_what_was_loaded_cannot_be_this_checkpoint_and_that_is_said(self, result):
        assert "The engine got past loading weights, so what it loaded cannot be" in said(result)
        assert result["budget"]["items"]["weights"] is None
        assert result["budget"]["left"] is None

    def test_what_makes_it_worse_is_not_offered(self, result):
        assert "FIX103" in {each["remedy"] for each in result["plan"]["rejected"]}
        assert "FIX103" not in {change["remedy"] for offer in offers(result) for change in offer["changes"]}


class TestTheRunbooksArithmetic:
    """24 GB x 0.9 - 9 GB, before activation and graphs."""

    @pytest.fixture
    def result(self, oomedic):
        (found,) = oomedic("budget", "-o", "json", "--weights", "9GB", "--gpu-memory", "24GB").results
        return found

    def test_requested_and_left(self, result):
        assert result["budget"]["requested"]["value"] == 21_600_000_000
        assert result["budget"]["left"]["value"] == 12_600_000_000
        assert result["budget"]["items"]["weights"]["value"] == 9_000_000_000

    def test_what_is_not_known_is_not_guessed(self, result):
        unknown = [name for name, item in result["budget"]["items"].items() if item is None]
        assert unknown == ["non_torch", "activation", "cuda_graphs", "kv_cache"]
        assert result["outcome"] == "unknown"

    @pytest.mark.parametrize(("vllm", "requested"), [("0.10.2", 21_600_000_000), ("0.20.0", 22_080_000_000)])
    def test_the_share_is_that_of_the_release(self, oomedic, vllm, requested):
        (found,) = oomedic("budget", "-o", "json", "--weights", "9GB", "--gpu-memory", "24GB", "--vllm", vllm).results
        assert found["budget"]["requested"]["value"] == requested

    def test_weights_are_shared_out_over_the_ranks(self, oomedic):
        words = ("--weights", "9GB", "--gpu-memory", "24GB", "--vllm", "0.10.2", "--", "-tp", "4")
        (found,) = oomedic("budget", "-o", "json", *words).results
        assert found["budget"]["items"]["weights"]["value"] == 9_000_000_000 // 4

    def test_a_pool_that_is_given_is_taken_as_printed(self, oomedic):
        words = ("--kv-cache-memory", "8GiB", "--gpu", "A10G", "--vllm", "0.10.2")
        llama = ("--", "vllm", "serve", "meta-llama/Llama-3.1-8B-Instruct", "--max-model-len", "8192")
        (found,) = oomedic("budget", "-o", "json", *words, *llama).results
        assert found["budget"]["items"]["kv_cache"]["value"] == 8 * GIB
        # 32 layers x 2 x 8 heads x 128 x 2 bytes for a token, in whole blocks of 16
        assert found["kv_cache"]["tokens"] == 8 * GIB // (32 * 2 * 8 * 128 * 2 * 16) * 16


# Results in the plural


def test_the_first_life_that_shows_a_cause_comes_first(diagnosed):
    log = f"{BANNER.format('0.10.2')}{FREE}{BANNER.format('0.10.2')}{KV}"
    first, second = diagnosed("-", stdin=log)
    assert [result["diagnosis"]["findings"][0]["code"] for result in (first, second)] == ["OOM101", "OOM401"]
    assert [result["subject"]["life"] for result in (first, second)] == [1, 2]


def test_a_life_without_a_cause_comes_behind_one_with_a_cause(diagnosed):
    log = f"{BANNER.format('0.10.2')}Starting to load model m...\n{BANNER.format('0.10.2')}{KV}"
    lives = [(result["subject"]["life"], len(result["diagnosis"]["findings"])) for result in diagnosed("-", stdin=log)]
    assert lives == [(2, 1), (1, 0)]


def test_one_life_has_no_number(diagnosed):
    (result,) = diagnosed("-", stdin=BANNER.format("0.10.2") + KV)
    assert result["subject"]["life"] is None


def test_each_log_is_a_subject_of_its_own(diagnosed, tmp_path):
    for name, line in {"a.log": KV, "b.log": FREE}.items():
        (tmp_path / name).write_text(BANNER.format("0.10.2") + line)
    found = diagnosed(tmp_path / "a.log", tmp_path / "b.log")
    assert [Path(result["subject"]["log"]).name for result in found] == ["a.log", "b.log"]
    assert [result["diagnosis"]["findings"][0]["code"] for result in found] == ["OOM401", "OOM101"]


TWO = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: pair, namespace: llm}
spec:
  template:
    spec:
      containers:
        - name: large
          image: vllm/vllm-openai:v0.10.2
          args: ["--model=meta-llama/Llama-3.1-8B-Instruct", "--max-model-len=131072"]
          resources: {limits: {nvidia.com/gpu: 1}}
        - name: small
          image: vllm/vllm-openai:v0.20.0
          args: ["--model=Qwen/Qwen2.5-7B-Instruct", "--max-model-len=4096"]
          resources: {limits: {nvidia.com/gpu: 1}}
        - name: proxy
          image: nginx:1
"""


@pytest.fixture
def two(tmp_path):
    path = tmp_path / "pair.yaml"
    path.write_text(TWO)
    return path


def test_each_engine_of_a_manifest_is_judged_alone(diagnosed, two):
    found = diagnosed("--manifest", two, "--gpu", "A10G")
    assert {(each["subject"]["container"], each["outcome"], each["phase"]) for each in found} == {
        ("large", "crashes", "kv_check"),
        ("small", "starts", None),
    }
    assert {each["subject"]["vllm"] for each in found} == {"0.10.2", "0.20.0"}


def test_a_log_belongs_to_the_engine_with_its_model(diagnosed, two):
    log = f"{BANNER.format('0.20.0')}non-default args: {{'model': 'Qwen/Qwen2.5-7B-Instruct'}}\n{KV}"
    (result,) = diagnosed("-", "--manifest", two, stdin=log)
    assert result["subject"]["container"] == "small"
    assert result["workload"]["model"] == "Qwen/Qwen2.5-7B-Instruct"


def test_what_the_engine_printed_outranks_the_manifest(diagnosed, two):
    log = f"{BANNER.format('0.10.2')}non-default args: {{'model': 'Qwen/Qwen2.5-7B-Instruct', 'max_model_len': 2048}}\n"
    (result,) = diagnosed("-", "--manifest", two, "--gpu", "A10G", stdin=log)
    assert result["subject"]["arguments"]["max_model_len"] == {"value": 2048, "where": "log:2"}
    assert result["subject"]["vllm"] == "0.10.2"


def test_what_the_user_says_of_the_release_outranks_the_log_and_the_difference_is_told(diagnosed):
    (result,) = diagnosed("-", "--vllm", "0.20.0", stdin=BANNER.format("0.10.2") + KV)
    assert result["subject"]["vllm"] == "0.20.0"
    assert "printed by vLLM 0.10.2; the arithmetic follows 0.20.0" in said(result)


def test_without_a_release_all_that_remain_are_computed_and_the_spread_is_shown(oomedic):
    llama = ("--", "vllm", "serve", "meta-llama/Llama-3.1-8B-Instruct", "--max-model-len", "8192")
    (spread,) = oomedic("budget", "-o", "json", "--gpu", "A10G", *llama).results
    each = oomedic("budget", "-o", "json", "--gpu", "A10G", "--vllm", "0.8.5,0.10.2,0.20.0,0.32.0", *llama).results
    requested = spread["budget"]["requested"]
    assert requested["low"] < requested["high"]
    for one in each:
        assert requested["low"] <= one["budget"]["requested"]["value"] <= requested["high"]


def test_the_wording_of_a_log_narrows_the_release(diagnosed):
    # V0 counted in tokens; this sentence is gone in 0.11
    v0 = (
        "ValueError: The model's max seq len (4096) is larger than the maximum number of tokens that can be stored in "
        "KV cache (3792)."
    )
    (result,) = diagnosed("-", "--gpu", "A10G", stdin=v0)
    assert result["budget"]["requested"]["high"] <= round(load().gpu("A10G").memory.high * 0.9) + 1


def test_every_sentence_of_a_report_is_in_the_catalogue_of_messages(diagnosed, two):
    messages = load().messages()
    for words, log in ((("-", "--manifest", two, "--gpu", "A10G"), KV), (("--manifest", two, "--gpu", "L40S"), "")):
        for claim in _claims(diagnosed(*words, stdin=log)):
            assert claim["message"] in messages, claim
            assert claim["says"] == Phrasebook(messages).text(claim["message"], **claim["parameters"])


def _claims(value):
    if isinstance(value, dict):
        if {"message", "parameters", "says"} <= value.keys():
            yield value
        for inside in value.values():
            yield from _claims(inside)
    elif isinstance(value, list):
        for inside in value:
            yield from _claims(inside)
