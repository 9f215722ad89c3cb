import pytest


@pytest.mark.parametrize(
    ("name", "version", "ranks", "parameters"),
    [
        ("databricks--dbrx-instruct", "0.11.2", 4, 65_804_906_496),
    ],
)
def test_dbrx_weighs_what_its_class_allocates(weigh, name, version, ranks, parameters):
    assert weigh(name, version, ranks) == parameters
