import pytest
from hypothesis import given
from hypothesis import strategies as st

from oomedic.errors import InputError, UsageError
from oomedic.memory.attention import CacheSettings, CacheSpec, Request, cache_specs, layer_specs, pages
from oomedic.models.cache_layers import Attention, Compressed, CrossAttention, KeyOnly, Latent, State

SETTINGS = CacheSettings(16, 2, 2)


def test_a_block_holds_keys_and_values_of_the_heads_of_a_rank():
    assert cache_specs(Attention(8, 128), SETTINGS) == (CacheSpec("full", 16, 2 * 8 * 128 * 2 * 16),)


def test_an_fp8_cache_takes_half():
    assert cache_specs(Attention(8, 128), SETTINGS._replace(element_bytes=1))[0].page == 8 * 128 * 2 * 16


def test_values_may_be_narrower_than_keys():
    # MiMo-V2-Flash at TP1: 8 heads of 192 and 128 (record of 0.33.0)
    assert cache_specs(Attention(8, 192, 128), SETTINGS)[0].page == 81_920


def test_a_layer_may_keep_the_models_dtype_whatever_the_cache_dtype():
    own = Attention(4, 192, 128, own_dtype=True)
    assert cache_specs(own, SETTINGS._replace(element_bytes=1)) == cache_specs(own, SETTINGS)


def test_windows_are_cut_only_where_the_release_cuts_them():
    layer = Attention(4, 256, window=1024)
    assert cache_specs(layer, SETTINGS)[0].kind == "sliding"
    assert cache_specs(layer, SETTINGS._replace(sliding=False))[0].kind == "full"


def test_a_latent_row_of_a_sparse_model_takes_656_bytes_in_fp8_beside_132_of_its_index():
    layer = Latent(576, 128, 192, index_size=128)
    settings = SETTINGS._replace(latent_block_size=64)
    assert [spec.page for spec in cache_specs(layer, settings)] == [132 * 64, 576 * 2 * 64]
    fp8 = settings._replace(element_bytes=1, sparse_fp8=True)
    assert [spec.page for spec in cache_specs(layer, fp8)] == [132 * 64, 656 * 64]
    assert cache_specs(layer._replace(index_size=None), fp8)[0].page == 656 * 64


def test_a_release_without_latent_caches_keeps_full_heads():
    layer = Latent(576, 16, 192)
    assert cache_specs(layer, SETTINGS._replace(latent=False)) == cache_specs(Attention(16, 192), SETTINGS)


@pytest.mark.parametrize(
    ("ratio", "index", "pages_and_blocks"),
    [
        # the records of 0.28.0: windows, the index and its compressor, the compressed keys and theirs
        (0, None, [(37_440, 64)]),
        (4, 128, [(37_440, 64), (8_640, 256), (8_640, 4), (37_440, 256), (32_832, 4)]),
        (128, None, [(37_440, 64), (1_728, 256), (32_832, 8)]),
    ],
)
def test_deepseek_v4_pads_its_pages_to_whole_rows(ratio, index, pages_and_blocks):
    specs = cache_specs(Compressed(ratio, 512, 128, index), SETTINGS)
    assert [(spec.page, spec.block_size) for spec in specs] == pages_and_blocks


def test_an_index_of_keys_alone_has_no_values():
    assert cache_specs(KeyOnly(128), SETTINGS)[0].page == 4_096  # MiniMax M3, record of 0.28.0


GATED_DELTA = State("gdn_attention", 3 * 5120, 24 * 128 * 128, "float32")
"""One layer of Qwen3.5-27B at TP2."""


def test_attention_blocks_grow_until_a_page_holds_a_state():
    # 16 x ceil((3 x 5120 x 2 + 24 x 128 x 128 x 4) / (16 x 2048)) = 784 tokens, 1,605,632 bytes (record of 0.28.0)
    specs = layer_specs([GATED_DELTA, Attention(2, 256)], SETTINGS._replace(state_mode="align"))
    assert [(spec.kind, spec.block_size, spec.page) for spec in specs] == [
        ("state", 784, 1_605_632),
        ("full", 784, 1_605_632),
    ]


def test_without_prefix_caching_a_state_lasts_as_long_as_its_request():
    settings = SETTINGS._replace(max_model_len=8192)
    assert [spec.block_size for spec in layer_specs([GATED_DELTA, Attention(2, 256)], settings)] == [8192, 784]


def test_a_state_for_every_block_needs_whole_chunks_of_the_scan():
    mamba = State("mamba2", 3 * 8448, 128 * 64 * 128, None, 256)  # Granite 4.0 H Small
    settings = SETTINGS._replace(state_mode="all")
    assert layer_specs([mamba, Attention(8, 128)], settings)[1].block_size == 768  # 528 in steps of 256


def test_a_latent_block_beside_states_is_a_multiple_of_128():
    # Kimi Linear at TP4: 512 tokens, 589,824 bytes (record of 0.28.0)
    kda = State("kda", 3 * 3 * 1024, 8 * 128 * 128, "float32")
    specs = layer_specs([kda, Latent(576, 8, 192)], SETTINGS._replace(state_mode="align"))
    assert {(spec.block_size, spec.page) for spec in specs} == {(512, 589_824)}


def test_a_model_of_states_alone_needs_no_larger_blocks():
    settings = SETTINGS._replace(max_model_len=8192, state_mode="align")
    state = State("mamba1", 3 * 1280, 1280 * 16)
    assert layer_specs([state], settings) == (CacheSpec("state", 8192, 48_640),)  # record of 0.28.0


def test_engine_v0_keeps_states_outside_its_blocks():
    assert layer_specs([GATED_DELTA, Attention(2, 256)], SETTINGS._replace(states="outside")) == cache_specs(
        Attention(2, 256), SETTINGS
    )


def test_a_release_may_refuse_states():
    with pytest.raises(UsageError) as error:
        layer_specs([GATED_DELTA, Attention(2, 256)], SETTINGS._replace(states="refused"))
    assert error.value.slug == "states-unsupported"


def test_a_class_may_fit_blocks_to_a_state_that_no_layer_keeps():
    state = State("mamba2", 3 * 5632, 128 * 40 * 256)  # Granite 4.0 Micro in 0.28.0: 1312 tokens
    assert layer_specs([Attention(8, 64)], SETTINGS, state)[0].block_size == 1312


def test_a_cache_without_size_is_refused():
    with pytest.raises(InputError):
        layer_specs([Attention(8, 0)], SETTINGS)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (CacheSpec("full", 16, 1), 512),
        (CacheSpec("latent", 64, 1), 128),
        (CacheSpec("sliding", 16, 1, 1024), 193),  # ceil((1023 + 2048) / 16) + 1
        (CacheSpec("sliding", 16, 1, 16_384), 513),
        (CacheSpec("chunked", 16, 1, 4096), 384),
        (CacheSpec("state", 8192, 1), 1),
        (CacheSpec("state", 528, 1, mode="align"), 2),
        (CacheSpec("state", 528, 1, mode="all"), 16),
        (CacheSpec("cross", 16, 1, tokens=1500), 94),
    ],
)
def test_a_request_needs_pages_by_the_kind_of_layer(spec, expected):
    assert pages(spec, Request(8192, 2048)) == expected


def test_an_encoder_reserves_what_the_engine_lets_in():
    assert pages(CacheSpec("cross", 16, 1, tokens=1500), Request(448, 8192, encoder_tokens=8192)) == 512


def test_ranks_of_context_parallelism_share_the_tokens():
    assert pages(CacheSpec("full", 16, 1), Request(8192, 2048, context_parallel=4)) == 128


@given(st.integers(1, 2**20), st.integers(1, 2**20), st.integers(1, 8192), st.integers(1, 16384))
def test_a_longer_request_never_needs_fewer_pages(length, more, window, in_flight):
    for kind in ("full", "latent", "sliding", "latent-window", "chunked", "state"):
        spec = CacheSpec(kind, 16, 1, window)
        assert pages(spec, Request(length, in_flight)) <= pages(spec, Request(length + more, in_flight))


def test_a_cross_attention_layer_keeps_keys_and_values():
    assert cache_specs(CrossAttention(6, 64, 1500), SETTINGS)[0].page == 24_576  # Whisper tiny, record of 0.28.0
