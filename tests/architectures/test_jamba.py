import pytest


@pytest.mark.parametrize(
    ("name", "version", "ranks", "parameters"),
    [
        ("ai21labs--AI21-Jamba-Mini-1.5", "0.14.1", 4, 25_788_980_992),
    ],
)
def test_jamba_weighs_what_its_class_allocates(weigh, name, version, ranks, parameters):
    assert weigh(name, version, ranks) == parameters
