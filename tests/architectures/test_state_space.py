import pytest


@pytest.mark.parametrize(
    ("name", "version", "ranks", "parameters"),
    [
        ("state-spaces--mamba-2.8b-hf", "0.28.0", 1, 5_547_299_840),
    ],
)
def test_a_state_space_model_weighs_what_its_class_allocates(weigh, name, version, ranks, parameters):
    assert weigh(name, version, ranks) == parameters
