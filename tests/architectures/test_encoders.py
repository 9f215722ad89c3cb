import pytest

from oomedic.memory.weights import encoder_weights
from oomedic.models.architectures import stack_of
from oomedic.models.modules import Shard
from oomedic.models.quantization import scheme_of


@pytest.mark.parametrize(
    ("name", "version", "ranks"),
    [
        ("Qwen--Qwen2-VL-7B-Instruct", "0.23.0", 2),
        ("Qwen--Qwen2.5-VL-3B-Instruct", "0.28.0", 1),
        ("Qwen--Qwen3-VL-30B-A3B-Instruct", "0.18.1", 4),
        ("google--gemma-3-4b-it", "0.28.0", 4),
        ("google--gemma-3-4b-it", "0.11.2", 4),
        ("llava-hf--llava-1.5-7b-hf", "0.28.0", 1),
        ("llava-hf--llava-v1.6-vicuna-7b-hf", "0.28.0", 4),
        ("llava-hf--llava-onevision-qwen2-0.5b-ov-hf", "0.28.0", 1),
        ("HuggingFaceTB--SmolVLM-256M-Instruct", "0.28.0", 1),
        ("mistralai--Ministral-3-3B-Instruct-2512", "0.28.0", 4),
        ("zai-org--GLM-4.1V-9B-Thinking", "0.28.0", 4),
        ("meta-models--Muse-Glimmer-30B", "0.33.0", 8),
        ("moonshotai--Kimi-K2.5", "0.28.0", 4),
        ("made--gemma-4-E2B-audio", "0.28.0", 4),
        ("google--paligemma2-3b-pt-224", "0.28.0", 4),
        ("Qwen--Qwen2-Audio-7B", "0.28.0", 4),
    ],
)
def test_a_model_with_its_towers_weighs_what_its_class_allocates(weigh, recorded, name, version, ranks):
    assert weigh(name, version, ranks) == pytest.approx(recorded(name, version, ranks), rel=1e-4)


def test_a_tower_can_be_kept_whole_on_each_rank(stack_for, config_named):
    name = "Qwen--Qwen3-VL-30B-A3B-Instruct"
    scheme = scheme_of(config_named(name), None, 2)
    sizes = {
        whole: encoder_weights(stack_for(name, tensor_parallel_size=4, whole_encoder=whole), scheme).parameters
        for whole in (True, False)
    }
    assert sizes[True] > 3 * sizes[False]


def test_a_text_model_has_no_tower(stack_for):
    assert stack_for("Qwen--Qwen3-32B").encoder == ()


def test_a_tower_of_an_unknown_kind_is_unknown_not_absent(config_named):
    config = config_named("Qwen--Qwen3-VL-2B-Instruct") | {"model_type": "qwen9_vl"}
    assert stack_of(config, Shard()).encoder is None


def test_a_tower_that_the_config_does_not_describe_is_unknown(config_named):
    config = config_named("Qwen--Qwen3-VL-2B-Instruct") | {"vision_config": {"patch_size": 16}}
    assert stack_of(config, Shard()).encoder is None


def test_heads_that_do_not_divide_leave_internvit_attention_whole(config_named):
    # InternViT-6B has 25 heads of 128 (InternVL3-78B): at TP2 each rank holds its 3200 x 9600 query, key and value
    config = {
        "model_type": "internvl_chat",
        "llm_config": config_named("Qwen--Qwen2.5-72B"),
        "vision_config": {
            "hidden_size": 3200,
            "num_attention_heads": 25,
            "num_hidden_layers": 45,
            "intermediate_size": 12800,
            "patch_size": 14,
            "image_size": 448,
            "qkv_bias": False,
            "qk_normalization": True,
            "norm_type": "rms_norm",
        },
    }
    block = stack_of(config, Shard(2)).encoder[1]
    assert block[0].outputs == (3200, 3200, 3200)
    assert block[2].outputs == (6400,)


def test_an_audio_encoder_that_the_config_does_not_describe_is_unknown(config_named):
    config = {key: value for key, value in config_named("Qwen--Qwen2-Audio-7B").items() if key != "audio_config"}
    assert stack_of(config, Shard()).encoder is None


def test_awq_leaves_a_tower_as_it_is(config_named):
    config = config_named("Qwen--Qwen2.5-VL-3B-Instruct")
    stack = stack_of(config, Shard())
    packed = scheme_of(config | {"quantization_config": {"quant_method": "awq", "bits": 4}}, None, 2)
    assert encoder_weights(stack, packed) == encoder_weights(stack, scheme_of(config, None, 2))
