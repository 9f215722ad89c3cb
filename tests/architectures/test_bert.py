import pytest


@pytest.mark.parametrize(
    ("name", "version", "ranks", "parameters"),
    [
        ("sentence-transformers--all-MiniLM-L6-v2", "0.28.0", 4, 11_317_632),
    ],
)
def test_an_encoder_of_text_weighs_what_its_class_allocates(weigh, name, version, ranks, parameters):
    assert weigh(name, version, ranks) == parameters


def test_an_encoder_keeps_no_cache(stack_for):
    assert all(not layer.cache for layer in stack_for("sentence-transformers--all-MiniLM-L6-v2").layers)
