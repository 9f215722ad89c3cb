import pytest


@pytest.mark.parametrize(
    ("name", "version", "ranks", "parameters"),
    [
        ("facebook--opt-350m", "0.28.0", 4, 170_549_248),
        ("tiiuae--falcon-7b-instruct", "0.28.0", 1, 14_434_379_520),
    ],
)
def test_an_older_decoder_weighs_what_its_class_allocates(weigh, name, version, ranks, parameters):
    assert weigh(name, version, ranks) == parameters
