"""What the profile run feeds encoders with, against the line "Encoder cache will be initialized with a budget of …"."""

import pytest

from oomedic.arguments.given import EngineArgs, Given
from oomedic.engine.config import ModelFacts, configure
from oomedic.engine.rules import rules_at
from oomedic.gathering.known_models import resolve
from oomedic.memory.activation import activation_peak, encodings, pools, sampler
from oomedic.memory.demand import demands
from oomedic.memory.encoder_items import drops_towers, encoder_batch
from oomedic.models.checkpoint import Checkpoint
from oomedic.sources.builtin import load
from oomedic.units import GIB
from oomedic.version import parse_version

CATALOGUE = load()
ROWS = CATALOGUE.engines()
QWEN3_VL = "Qwen/Qwen3-VL-30B-A3B-Instruct"
TEXT_ONLY = {"image": 0, "video": 0}


def model(name):
    found = resolve(name, CATALOGUE).checkpoint
    assert found is not None
    return found


def config(version, environment=None, **given):
    args = EngineArgs({name: Given(value, "command line") for name, value in given.items()}, environment or {})
    return configure(args, ModelFacts(max_model_len=32768), None, rules_at(parse_version(version), ROWS))


def batch(name, version, **given):
    found = encoder_batch(model(name), config(version, **given))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "version", "tokens", "items"),
    [
        ("google/gemma-3-27b-it", "0.11.0", 8192, 31),
        ("google/gemma-4-31B-it", "0.23.0", 8192, 3),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", "0.13.0", 8192, 3),
        ("llava-hf/llava-v1.6-mistral-7b-hf", "0.10.2", 16384, 5),
        ("Qwen/Qwen3.6-35B-A3B", "0.20.0", 8192, 1),
    ],
)
def test_as_many_items_are_profiled_as_engines_printed(name, version, tokens, items):
    assert batch(name, version, max_num_batched_tokens=tokens).items == items


@pytest.mark.parametrize(
    ("name", "version", "budget"),
    [
        (QWEN3_VL, "0.12.0", 153600),  # 12,288 tokens of video, each counted 12.5 times
        (QWEN3_VL, "0.13.0", 16384),
        ("Qwen/Qwen3.5-27B", "0.19.0", 16384),
        ("google/gemma-4-E4B-it", "0.27.1", 2496),
        ("Qwen/Qwen2.5-VL-7B-Instruct", "0.10.2", 32768),  # a video as long as max_model_len
    ],
)
def test_the_largest_item_has_as_many_tokens_as_engines_printed(name, version, budget):
    assert batch(name, version, max_num_batched_tokens=2048).item.tokens == budget


def test_a_limit_of_pixels_makes_images_smaller():
    # 1280 x 28 x 28 pixels are 1280 tokens
    small = {"max_pixels": 1280 * 28 * 28}
    found = batch("Qwen/Qwen2.5-VL-7B-Instruct", "0.11.0", mm_processor_kwargs=small, limit_mm_per_prompt={"video": 0})
    assert found.item == (1280, 1280, 5120)


def test_one_sequence_cannot_hold_more_items_than_fit_its_prompt():
    # printed with max_num_seqs 1 and max_model_len 4096: one image of 2928 tokens
    few = batch("llava-hf/llava-v1.6-mistral-7b-hf", "0.11.0", max_num_seqs=1, max_model_len=4096)
    assert few.items == 1


def test_0_12_keeps_embeddings_for_the_whole_budget():
    # 153,600 rows and the 12,288 of the video itself, 2048 elements for each of 4 levels, 2 bytes
    assert encodings(model(QWEN3_VL), config("0.12.0")) == (153600 + 12288) * 2048 * 4 * 2
    assert encodings(model(QWEN3_VL), config("0.13.0", max_num_batched_tokens=8192)) == 16384 * 2048 * 4 * 2


def test_v0_runs_image_and_video_of_a_prompt_together():
    # Qwen2.5-VL-7B on 0.10.0 printed a peak of 2.47 GiB with videos forbidden, 4.93 with one allowed
    forced = {"VLLM_USE_V1": "0"}
    alone = config("0.10.0", forced, max_model_len=4096, limit_mm_per_prompt={"image": 1, "video": 0})
    both = config("0.10.0", forced, max_model_len=4096, limit_mm_per_prompt={"image": 1})
    peaks = [activation_peak(model("Qwen/Qwen2.5-VL-7B-Instruct-AWQ"), each).size / GIB for each in (alone, both)]
    assert peaks[0] == pytest.approx(2.47, rel=0.25)
    assert peaks[1] == pytest.approx(2 * peaks[0], rel=0.01)


def test_the_second_runner_feeds_no_encoder_before_0_27():
    second = {"VLLM_USE_V2_MODEL_RUNNER": "1"}
    few = {"max_num_seqs": 1, "max_num_batched_tokens": 2048}
    before, since = (activation_peak(model(QWEN3_VL), config(each, second, **few)) for each in ("0.26.0", "0.27.1"))
    assert before.part != "encoder"
    assert since.part == "encoder"


@pytest.mark.parametrize("asked", [{"language_model_only": True}, {"limit_mm_per_prompt": TEXT_ONLY}])
def test_an_engine_for_text_only_has_no_tower(asked):
    # Qwen3.6-27B: the tower's 460,730,096 parameters in 16 bits are 0.86 GiB
    checkpoint = model("Qwen/Qwen3.6-27B")
    whole, text = (demands(checkpoint, config("0.27.1", **given), None)[0] for given in ({}, asked))
    assert whole.weights is not None
    assert text.weights is not None
    assert whole.weights.value - text.weights.value == pytest.approx(460_730_096 * 2, rel=0.02)
    assert activation_peak(checkpoint, config("0.27.1", max_num_seqs=1, **asked)).part == "forward"


def test_only_some_classes_could_leave_out_towers_before_0_15():
    given = {"limit_mm_per_prompt": TEXT_ONLY}
    names = ("Qwen/Qwen2.5-VL-7B-Instruct", "google/gemma-3-27b-it")
    dropped = {
        each: [drops_towers(model(name), config(each, **given)) for name in names]
        for each in ("0.10.0", "0.11.0", "0.15.0")
    }
    assert dropped == {"0.10.0": [False, False], "0.11.0": [True, False], "0.15.0": [True, True]}


def test_videos_alone_keep_the_tower():
    assert not drops_towers(model(QWEN3_VL), config("0.20.0", limit_mm_per_prompt={"image": 0}))


@pytest.mark.parametrize(
    ("name", "architecture", "given", "expected"),
    [
        ("Qwen/Qwen3-Embedding-8B", "Qwen3ForCausalLM", {}, True),
        ("org/model", "Qwen3ForCausalLM", {}, False),
        ("org/model", "Qwen3ForCausalLM", {"runner": "pooling"}, True),
        ("org/model", "Qwen3ForCausalLM", {"task": "embed"}, True),
        ("Qwen/Qwen3-Embedding-8B", "Qwen3ForCausalLM", {"runner": "generate"}, False),
        ("org/model", "BertModel", {}, True),
        ("org/model", "GPT2LMHeadModel", {}, False),
        ("org/model", "LlamaForSequenceClassification", {}, True),
    ],
)
def test_pooling_models_sample_nothing(name, architecture, given, expected):
    checkpoint = Checkpoint(name, {"architectures": [architecture], "vocab_size": 1000}, "test")
    settings = config("0.11.0", **given)
    assert pools(checkpoint, settings) is expected
    assert (sampler(checkpoint, settings).size == 0) is expected


def test_the_share_of_the_encoder_is_told_beside_the_weights():
    # 460,730,096 parameters in 16 bits, whatever the number of pipeline stages: they stand on the first
    checkpoint = model("Qwen/Qwen3.6-27B")
    first, last = demands(checkpoint, config("0.27.1", pipeline_parallel_size=2), None)
    assert first.encoder is not None
    assert first.encoder.value == pytest.approx(460_730_096 * 2, rel=0.02)
    assert last.encoder is None
    assert demands(model("Qwen/Qwen3-8B"), config("0.27.1"), None)[0].encoder is None
