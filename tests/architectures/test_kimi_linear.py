import pytest


@pytest.mark.parametrize(
    ("name", "version", "ranks", "parameters"),
    [
        ("made--Kimi-Linear", "0.28.0", 4, 24_616_728_704),
    ],
)
def test_kimi_linear_weighs_what_its_class_allocates(weigh, name, version, ranks, parameters):
    assert weigh(name, version, ranks) == parameters
