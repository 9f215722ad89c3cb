import pytest


@pytest.mark.parametrize(
    ("name", "version", "ranks", "parameters"),
    [
        ("tiiuae--Falcon-H1-0.5B-Instruct", "0.28.0", 4, 279_810_752),
    ],
)
def test_falcon_h1_weighs_what_its_class_allocates(weigh, name, version, ranks, parameters):
    assert weigh(name, version, ranks) == parameters
