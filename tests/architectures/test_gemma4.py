import pytest

from oomedic.models.cache_layers import Attention


@pytest.mark.parametrize(
    ("name", "version", "ranks", "parameters"),
    [
        ("google--gemma-4-12B-it", "0.28.0", 4, 6_069_905_792),
    ],
)
def test_gemma_4_weighs_what_its_class_allocates(weigh, name, version, ranks, parameters):
    assert weigh(name, version, ranks) == parameters


def test_full_layers_have_wider_and_fewer_heads(stack_for):
    layers = stack_for("nvidia--Gemma-4-31B-IT-NVFP4", tensor_parallel_size=4).layers
    assert {layer.cache[0] for layer in layers} == {Attention(4, 256, window=1024), Attention(1, 512)}
