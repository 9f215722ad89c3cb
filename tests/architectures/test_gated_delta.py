import pytest


@pytest.mark.parametrize(
    ("name", "version", "ranks", "parameters"),
    [
        ("Qwen--Qwen3.5-27B", "0.28.0", 4, 13_686_305_976),
        ("Qwen--Qwen3-Coder-Next", "0.28.0", 4, 39_925_738_176),
        ("Qwen--Qwen3-Coder-Next", "0.11.2", 4, 39_925_737_600),
    ],
)
def test_a_gated_deltanet_hybrid_weighs_what_its_class_allocates(weigh, name, version, ranks, parameters):
    assert weigh(name, version, ranks) == parameters


def test_three_of_four_layers_keep_a_state(stack_for):
    kinds = [type(layer.cache[0]).__name__ for layer in stack_for("Qwen--Qwen3.5-27B").layers]
    assert kinds[:8] == ["State", "State", "State", "Attention"] * 2


def test_the_state_is_as_large_as_vllm_says(stack_for):
    # shapes [3, 5120] and [24, 128, 128] at TP2 (record of 0.28.0)
    state = stack_for("Qwen--Qwen3.5-27B", tensor_parallel_size=2).layers[0].cache[0]
    assert (state.convolution, state.temporal, state.temporal_dtype) == (3 * 5120, 24 * 128 * 128, "float32")
