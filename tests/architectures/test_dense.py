import pytest

from oomedic.models.architectures import stack_of
from oomedic.models.modules import Shard


@pytest.mark.parametrize(
    ("name", "version", "ranks", "parameters"),
    [
        ("google--gemma-2-9b", "0.11.2", 1, 18_483_411_968),
        ("microsoft--Phi-3-mini-4k-instruct", "0.14.1", 4, 1_910_839_296),
        ("CohereLabs--c4ai-command-r-v01", "0.9.2", 1, 69_961_662_464),
        ("allenai--OLMo-2-1124-7B-Instruct", "0.11.2", 2, 7_299_145_728),
        ("zai-org--glm-4-9b-chat-hf", "0.14.1", 1, 18_799_902_720),
        ("microsoft--phi-2", "0.28.0", 1, 5_559_367_680),
        ("zai-org--chatglm3-6b", "0.28.0", 4, 3_151_509_504),
        ("arcee-ai--AFM-4.5B", "0.11.2", 4, 2_310_026_240),
        ("baidu--ERNIE-4.5-0.3B", "0.28.0", 1, 721_496_064),
    ],
)
def test_a_dense_decoder_weighs_what_its_class_allocates(weigh, name, version, ranks, parameters):
    assert weigh(name, version, ranks) == parameters


def test_windows_follow_the_pattern_of_the_config(stack_for):
    stack = stack_for("google--gemma-2-9b")
    windows = [layer.cache[0].window for layer in stack.layers]
    assert windows[:4] == [4096, None, 4096, None]


def test_the_gemma_3_of_one_release_sees_a_window_in_every_layer(stack_for):
    seen = {layer.cache[0].window for layer in stack_for("google--gemma-3-27b-text", "0.9.2").layers}
    assert seen == {1024}
    assert {layer.cache[0].window for layer in stack_for("google--gemma-3-27b-text", "0.11.2").layers} == {1024, None}


def test_layers_of_one_kind_share_one_tuple_of_modules(stack_for):
    stack = stack_for("Qwen--Qwen3-32B")
    assert len({id(layer.modules) for layer in stack.layers}) == 1


def test_chatglm_rotates_half_of_each_head(stack_for):
    assert stack_for("zai-org--chatglm3-6b").everywhere[0].elements == 8192 * 64


def test_the_first_qwen_counts_gate_and_up_together(config_named):
    config = config_named("Qwen--Qwen2.5-7B") | {"model_type": "qwen", "intermediate_size": 22016}
    mlp = next(module for module in stack_of(config, Shard()).layers[0].modules if module.name == "mlp.gate_up_proj")
    assert mlp.outputs == (11008, 11008)
