import pytest


@pytest.mark.parametrize(
    ("name", "version", "ranks", "parameters"),
    [
        ("meta-llama--Llama-4-Maverick-17B-128E-Instruct", "0.28.0", 4, 200_817_888_640),
    ],
)
def test_llama_4_weighs_what_its_class_allocates(weigh, name, version, ranks, parameters):
    assert weigh(name, version, ranks) == parameters


def test_three_of_four_layers_attend_to_chunks(stack_for):
    layers = stack_for("meta-llama--Llama-4-Scout-17B-16E-Instruct").layers
    assert [layer.cache[0].chunk for layer in layers[:4]] == [8192, 8192, 8192, None]


def test_its_rotary_table_has_a_row_for_every_position(stack_for):
    # 10,485,760 positions x 128 x 2 bytes: 2.5 GiB on every rank
    table = stack_for("meta-llama--Llama-4-Scout-17B-16E-Instruct", tensor_parallel_size=8).everywhere[0]
    assert table.elements == 10_485_760 * 128
