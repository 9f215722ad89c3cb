import pytest


@pytest.mark.parametrize(
    ("name", "version", "ranks", "parameters"),
    [
        ("google--gemma-3n-E4B-it", "0.9.2", 1, 13_733_536_736),
        ("google--gemma-3n-E4B-it", "0.28.0", 4, 5_481_431_712),
    ],
)
def test_gemma_3n_weighs_what_its_class_allocates(weigh, name, version, ranks, parameters):
    assert weigh(name, version, ranks) == parameters


def test_the_last_layers_use_the_cache_of_earlier_ones(stack_for):
    layers = stack_for("google--gemma-3n-E4B-it").layers
    assert [bool(layer.cache) for layer in layers] == [True] * 20 + [False] * 15


def test_its_encoders_are_built_since_0_10(stack_for):
    assert stack_for("google--gemma-3n-E4B-it", "0.9.2").encoder == ()
    assert stack_for("google--gemma-3n-E4B-it", "0.11.2").encoder
