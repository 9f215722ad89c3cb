import pytest


@pytest.mark.parametrize(
    ("name", "version", "ranks", "parameters"),
    [
        ("MiniMaxAI--MiniMax-Text-01-hf", "0.11.2", 4, 228_715_958_272),
    ],
)
def test_minimax_text_01_weighs_what_its_class_allocates(weigh, name, version, ranks, parameters):
    assert weigh(name, version, ranks) == parameters
