import pytest


@pytest.mark.parametrize(
    ("name", "version", "ranks", "parameters"),
    [
        ("made--LFM2-1.2B", "0.28.0", 4, 585_272_832),
        ("LiquidAI--LFM2-8B-A1B", "0.28.0", 4, 4_172_282_112),
    ],
)
def test_lfm2_weighs_what_its_class_allocates(weigh, name, version, ranks, parameters):
    assert weigh(name, version, ranks) == parameters
