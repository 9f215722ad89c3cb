import pytest
from hypothesis import given
from hypothesis import strategies as st

from oomedic.engine.rules import rules_at
from oomedic.errors import UsageError
from oomedic.memory.attention import CacheSettings, CacheSpec, Request, layer_specs
from oomedic.memory.cache_rules import CacheUse, cache_settings, element_bytes, plan_rules
from oomedic.memory.kv_plan import PlanRules, blocks_per_request, layout, longest, needed_bytes, plan
from oomedic.models.cache_layers import Attention, Compressed, Latent, State
from oomedic.models.quantization import scheme_of
from oomedic.sources.builtin import load
from oomedic.units import GIB
from oomedic.version import parse_version

NEWEST = PlanRules(grouped=True, need="all-groups", tokens_line="concurrency", group_ratio=1.5, unify_pages=True)
SETTINGS = CacheSettings(16, 2, 2, max_model_len=8192)
FULL, WINDOWED = Attention(16, 128), Attention(16, 128, window=1024)
GEMMA_3_27B = [FULL if (index + 1) % 6 == 0 else WINDOWED for index in range(62)]


def cut(layers, rules=NEWEST, settings=SETTINGS):
    return layout(layer_specs(layers, settings), rules)


def cache_of(version):
    return rules_at(parse_version(version), load().engines()).cache


def test_one_kind_of_layer_is_one_group():
    found = cut([FULL] * 32)
    assert [group.layers for group in found.groups] == [32]
    assert found.bytes_per_block == 32 * 2 * 16 * 128 * 2 * 16


def test_gemma_3_has_one_group_of_full_layers_and_six_of_windowed_ones():
    found = cut(GEMMA_3_27B)
    assert [group.spec.kind for group in found.groups] == ["sliding"] * 6 + ["full"]
    assert {group.layers for group in found.groups} == {10}


def test_layers_of_nearly_the_same_number_are_padded_to_the_larger():
    layers = [FULL] * 8 + [WINDOWED] * 9
    assert {group.layers for group in cut(layers).groups} == {9}
    assert {group.layers for group in cut(layers, NEWEST._replace(group_ratio=1.0)).groups} == {8}


def test_smaller_pages_get_larger_blocks():
    found = cut([Attention(8, 128), Attention(16, 128, window=128)])
    assert {(group.spec.block_size, group.spec.page) for group in found.groups} == {(32, 131_072), (16, 131_072)}


def test_pages_that_do_not_divide_are_padded_or_refused():
    layers = [Attention(3, 128), Attention(16, 128, window=128)]
    assert {group.spec.page for group in cut(layers, NEWEST._replace(pad_pages=True)).groups} == {131_072}
    with pytest.raises(UsageError) as error:
        cut(layers)
    assert error.value.slug == "pages-do-not-unify"


def test_without_the_hybrid_manager_windowed_layers_keep_everything():
    found = cut(GEMMA_3_27B, NEWEST._replace(hybrid=False))
    assert [(group.spec.kind, group.layers) for group in found.groups] == [("full", 62)]


def test_a_release_may_switch_the_hybrid_manager_off_for_chunked_layers():
    layers = [Attention(8, 128, chunk=8192)] * 3 + [Attention(8, 128)]
    assert len(cut(layers, NEWEST._replace(chunks_hybrid=False)).groups) == 1
    assert len(cut(layers).groups) == 4


@pytest.mark.parametrize("layer", [State("mamba2", 8, 8)])
def test_states_need_the_hybrid_manager(layer):
    with pytest.raises(UsageError) as error:
        cut([layer, FULL], NEWEST._replace(hybrid=False))
    assert error.value.slug == "hybrid-manager-needed"


def test_latent_rows_and_their_index_are_one_group_of_uneven_layers():
    found = cut([Latent(576, 128, 192, 128)] * 61, settings=SETTINGS._replace(latent_block_size=64))
    assert found.uniform
    assert found.bytes_per_block == 61 * (132 + 576 * 2) * 64


def test_deepseek_v4_lays_its_groups_over_each_other():
    # DeepSeek-V4-Flash in 0.28.0: five groups, blocks of 1,002,240 bytes, 21,426 of them in 20 GiB
    ratios = [0, 0, *([4, 128] * 20), 4]
    found = cut([Compressed(ratio, 512, 128, 128 if ratio == 4 else None) for ratio in ratios])
    assert [group.spec.page for group in found.groups] == [1_002_240, 823_680, 786_240, 870_912, 656_640]
    assert plan(found, 20 * GIB, Request(8192, 16_384), NEWEST).blocks == 21_426
    assert needed_bytes(found, Request(2**20, 16_384), NEWEST) / GIB == pytest.approx(10.56, abs=0.005)


def test_llama_4_scout_over_its_whole_context_needs_240_gib():
    # a published refusal: 48 layers of 512 bytes, 10,485,760 tokens, TP8
    found = cut([Attention(1, 128)] * 48)
    assert needed_bytes(found, Request(10_485_760, 8192), NEWEST) == 240 * GIB


@pytest.mark.parametrize(
    ("version", "tokens", "fits_small"),
    [
        # Mistral-7B-v0.1, window 4096, 32768 tokens, 20 GiB: the records of three releases
        ("0.18.1", 163_840, True),
        ("0.23.0", 436_338, True),
        ("0.28.0", 261_939, True),
    ],
)
def test_the_tokens_line_changes_with_the_release(version, tokens, fits_small):
    cache = cache_of(version)
    use = CacheUse("mistral", max_model_len=32_768)
    rules = plan_rules(cache, use)
    found = layout(layer_specs([Attention(8, 128, window=4096)] * 32, cache_settings(cache, use, 2)), rules)
    batches = 2 if cache.get("in_flight") == "batches" else 1
    answer = plan(found, 20 * GIB, Request(32_768, 8192 * batches), rules)
    assert (answer.tokens, answer.fits) == (tokens, fits_small)


@pytest.mark.parametrize(("need", "fits"), [("first-group", True), ("each-layer", False), ("all-groups", False)])
def test_two_releases_price_only_the_first_group(need, fits):
    # Gemma-3-27B at 32768 tokens passes 0.14.1 and 0.18.1 with 0.75 GiB
    rules = NEWEST._replace(need=need)
    assert plan(cut(GEMMA_3_27B, rules), int(0.75 * GIB), Request(32_768, 8192), rules).fits is fits


def test_one_block_is_kept_back_since_0_30():
    layers, request = [FULL] * 8, Request(8192, 2048)
    exactly = needed_bytes(cut(layers), request, NEWEST)
    assert plan(cut(layers), exactly, request, NEWEST).fits
    assert not plan(cut(layers), exactly, request, NEWEST._replace(null_block=True)).fits


def test_engine_v0_counts_tokens_not_pages():
    rules = PlanRules(grouped=False, need="tokens", tokens_line="blocks")
    answer = plan(cut([FULL] * 32, rules), 20 * GIB, Request(8192, 2048), rules)
    assert (answer.blocks, answer.tokens) == (5120, 5120 * 16)  # blocks of 32 layers x 128 KiB


def test_an_override_of_blocks_is_taken_as_it_is():
    assert plan(cut([FULL]), 0, Request(64, 64), NEWEST, override_blocks=100).blocks == 100


def test_a_model_without_a_cache_fits_in_nothing():
    answer = plan(layout((), NEWEST), 0, Request(512, 512), NEWEST)
    assert (answer.blocks, answer.fits) == (0, True)


layers = st.lists(
    st.sampled_from([FULL, WINDOWED, Attention(16, 128, chunk=2048), State("mamba2", 1000, 50_000)]),
    min_size=1,
    max_size=20,
)


@given(layers, st.integers(0, 2**36), st.integers(0, 2**34), st.integers(1, 2**17))
def test_more_memory_never_gives_fewer_blocks(kinds, available, more, length):
    found, request = cut(kinds), Request(length, 8192)
    less, much = plan(found, available, request, NEWEST), plan(found, available + more, request, NEWEST)
    assert less.blocks <= much.blocks
    assert less.estimated_max_model_len <= much.estimated_max_model_len


@given(layers, st.integers(0, 2**34), st.integers(1, 2**17))
def test_the_longest_request_fits_and_a_longer_one_does_not(kinds, usable, length):
    found = cut(kinds)
    best = longest(found, usable, Request(length, 8192), NEWEST)
    assert best <= length
    if best:
        assert needed_bytes(found, Request(best, 8192), NEWEST) <= usable
    if best < length:
        assert needed_bytes(found, Request(best + 1, 8192), NEWEST) > usable


@given(layers, st.integers(1, 2**17))
def test_concurrency_is_blocks_over_the_blocks_of_a_request(kinds, length):
    found, request = cut(kinds), Request(length, 8192)
    answer = plan(found, 64 * GIB, request, NEWEST)
    assert answer.max_concurrency == answer.blocks / blocks_per_request(found, request)


def test_a_declared_cache_dtype_is_heeded_by_the_releases_that_do():
    declared = scheme_of({"quantization_config": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"}}, None, 2)
    use = CacheUse("llama")
    sizes = [element_bytes(cache_of(version), use, declared) for version in ("0.11.2", "0.14.1")]
    assert sizes == [2, 1]
    assert element_bytes(cache_of("0.14.1"), use._replace(kv_cache_dtype="bfloat16"), declared) == 2


@pytest.mark.parametrize(
    ("version", "use", "block"),
    [
        ("0.11.2", CacheUse("deepseek_v3"), 64),
        ("0.28.0", CacheUse("deepseek_v3"), None),
        ("0.28.0", CacheUse("deepseek_v32", sparse=True), 64),
        ("0.11.2", CacheUse("deepseek_v3", block_size=32), None),
    ],
)
def test_backends_force_the_block_of_latent_layers(version, use, block):
    assert cache_settings(cache_of(version), use, 2).latent_block_size == block


@pytest.mark.parametrize(
    ("version", "generation", "states"),
    [("0.9.2", "V0", "outside"), ("0.9.2", "V1", "refused"), ("0.11.2", "V1", "paged")],
)
def test_what_becomes_of_states_depends_on_release_and_generation(version, generation, states):
    assert cache_settings(cache_of(version), CacheUse("mamba", generation), 2).states == states


def test_a_page_of_layers_is_a_value():
    assert CacheSpec("full", 16, 1) == CacheSpec("full", 16, 1)
