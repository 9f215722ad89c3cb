import pytest


@pytest.mark.parametrize(
    ("name", "version", "ranks", "parameters"),
    [
        ("ibm-granite--granite-4.0-h-small", "0.28.0", 1, 64_414_685_184),
        ("ibm-ai-platform--Bamba-9B-v1", "0.14.1", 2, 9_810_951_168),
    ],
)
def test_a_granite_hybrid_weighs_what_its_class_allocates(weigh, name, version, ranks, parameters):
    assert weigh(name, version, ranks) == parameters


def test_groups_fewer_than_ranks_are_held_by_each(stack_for):
    # one group of 128 values for B and C: 2048 + 2 x 128 channels at TP4 (record of 0.28.0)
    state = stack_for("ibm-granite--granite-4.0-h-small", tensor_parallel_size=4).layers[0].cache[0]
    assert state.convolution == 3 * 2304
