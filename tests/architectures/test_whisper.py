import pytest


@pytest.mark.parametrize(
    ("name", "version", "ranks", "parameters"),
    [
        ("openai--whisper-tiny", "0.28.0", 1, 75_530_496),
    ],
)
def test_whisper_weighs_what_its_class_allocates(weigh, name, version, ranks, parameters):
    assert weigh(name, version, ranks) == parameters


def test_each_decoder_layer_attends_to_the_audio(stack_for):
    layers = stack_for("openai--whisper-tiny").layers
    assert all([type(cache).__name__ for cache in layer.cache] == ["Attention", "CrossAttention"] for layer in layers)
