"""Families whose layers have numbers of heads of their own, or sparse parts beside their attention."""

import pytest

from oomedic.models.cache_layers import Attention, KeyOnly


@pytest.mark.parametrize(
    ("name", "version", "ranks"),
    [
        ("XiaomiMiMo--MiMo-V2-Flash", "0.28.0", 1),
        ("poolside--Laguna-XS.2-FP8", "0.33.0", 1),
        ("poolside--Laguna-S-2.1", "0.28.0", 4),
        ("nvidia--MiniMax-M3-NVFP4", "0.28.0", 4),
        ("deepseek-ai--DeepSeek-V4-Flash", "0.33.0", 8),
        ("deepseek-ai--DeepSeek-V4-Pro", "0.33.0", 1),
    ],
)
def test_it_weighs_what_its_class_allocates(weigh, recorded, name, version, ranks):
    assert weigh(name, version, ranks) == pytest.approx(recorded(name, version, ranks), rel=1e-6)


def test_values_may_be_narrower_than_keys(stack_for):
    caches = {layer.cache[0] for layer in stack_for("XiaomiMiMo--MiMo-V2-Flash", tensor_parallel_size=4).layers}
    assert caches == {
        Attention(1, 192, 128, own_dtype=True),
        Attention(2, 192, 128, window=128, own_dtype=True),
    }


def test_windowed_layers_may_have_more_query_heads(stack_for):
    layers = stack_for("poolside--Laguna-XS.2-FP8").layers
    widths = [layer.modules[0].outputs[0] for layer in layers[:4]]
    assert widths == [48 * 128, 64 * 128, 64 * 128, 64 * 128]


def test_a_small_index_chooses_blocks_of_keys(stack_for):
    layers = stack_for("nvidia--MiniMax-M3-NVFP4", tensor_parallel_size=4).layers
    assert layers[0].cache == (Attention(1, 128),)
    assert layers[3].cache == (Attention(1, 128), KeyOnly(128))


def test_compressing_layers_keep_a_key_per_few_tokens(stack_for):
    layers = stack_for("deepseek-ai--DeepSeek-V4-Flash").layers
    assert [layer.cache[0].ratio for layer in layers[:6]] == [0, 0, 4, 128, 4, 128]
    assert [layer.cache[0].index_size for layer in layers[:4]] == [None, None, 128, None]
