import pytest


@pytest.mark.parametrize(
    ("name", "version", "ranks", "parameters"),
    [
        ("zai-org--GLM-5.2", "0.28.0", 1, 1_486_754_088_960),
        ("zai-org--GLM-4.7-Flash", "0.28.0", 4, 15_187_244_032),
    ],
)
def test_latent_attention_weighs_what_its_class_allocates(weigh, name, version, ranks, parameters):
    assert weigh(name, version, ranks) == parameters


def test_a_latent_row_is_the_same_on_every_rank(stack_for):
    one, eight = (stack_for("deepseek-ai--DeepSeek-V3", tensor_parallel_size=size) for size in (1, 8))
    assert one.layers[0].cache[0].width == eight.layers[0].cache[0].width == 512 + 64


def test_only_layers_with_an_indexer_of_their_own_keep_its_keys(stack_for):
    layers = stack_for("zai-org--GLM-5.2").layers
    indexed = [layer.cache[0].index_size for layer in layers]
    assert indexed.count(128) == 21
    assert indexed.count(None) == 57


def test_the_sparse_indexer_is_fused_since_0_20(weigh, recorded):
    for version in ("0.18.1", "0.23.0"):
        measured = weigh("deepseek-ai--DeepSeek-V3.2", version)
        assert measured == pytest.approx(recorded("deepseek-ai--DeepSeek-V3.2", version), rel=1e-6)
