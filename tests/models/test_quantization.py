import pytest

from oomedic.errors import InputError, UsageError
from oomedic.models.modules import Experts, Linear
from oomedic.models.quantization import quantization_block, scheme_of
from oomedic.models.quantization.skipping import skipper

MATRIX = Linear("mlp.down_proj", 4096, (1024,))
FUSED = Linear("self_attn.qkv_proj", 4096, (4096, 1024, 1024), parts=("self_attn.q_proj", "self_attn.k_proj"))
EXPERTS = Experts("mlp.experts", 8, 2048, 768)
NAME = "model.layers.0.mlp.down_proj"


def scheme(block, argument=None, **more):
    return scheme_of({"quantization_config": block}, argument, 2, **more)


def size(block, module=MATRIX, **more):
    kind = scheme(block, **more).kind_of(NAME)
    return sum(kind.experts(module) if isinstance(module, Experts) else kind.linear(module))


def test_a_plain_checkpoint_is_left_as_it_is():
    assert scheme_of({}, None, 2).kind_of(NAME) is None


def test_an_unknown_method_gives_none():
    assert scheme({"quant_method": "hqq9"}) is None


def test_a_quantization_block_that_is_no_table_is_as_none():
    assert scheme_of({"quantization_config": "fp8"}, None, 2).method is None


@pytest.mark.parametrize(
    "block", [{"quant_method": "fp8", "weight_block_size": "many"}, {"quant_method": "awq", "bits": "x"}]
)
def test_a_block_with_wrong_values_gives_an_error_of_ours(block):
    with pytest.raises(InputError) as error:
        scheme(block)
    assert error.value.slug == "config-malformed"


def test_fp8_keeps_a_scale_for_each_fused_part():
    assert size({"quant_method": "fp8"}, FUSED) == 4096 * 6144 + 3 * 4


def test_static_fp8_keeps_activation_scales_too():
    assert size({"quant_method": "fp8", "activation_scheme": "static"}) == 4096 * 1024 + 2 * 4


def test_block_fp8_keeps_a_scale_for_each_128_by_128():
    assert size({"quant_method": "fp8", "weight_block_size": [128, 128]}) == 4096 * 1024 + 32 * 8 * 4


def test_an_expert_of_no_whole_blocks_gets_smaller_ones_or_is_refused():
    block = {"quant_method": "fp8", "weight_block_size": [128, 128]}
    narrow = EXPERTS._replace(width=96)  # Qwen3-30B-A3B at TP8
    weights = 8 * (2 * 96 * 2048 + 2048 * 96)
    assert size(block, narrow) == weights + 8 * (6 * 64 + 64 * 3) * 4  # blocks of 32 by 32, the record of 0.33.0
    with pytest.raises(UsageError) as error:
        size(block, narrow, release={"fp8_refines_blocks": False})
    assert error.value.slug == "not-whole-blocks"


def test_online_fp8_quantises_a_plain_checkpoint():
    kind = scheme_of({}, "fp8", 2).kind_of(NAME)
    assert sum(kind.linear(MATRIX)) == 4096 * 1024 + 4


def test_awq_keeps_scales_and_zero_points_per_group():
    found = size({"quant_method": "awq", "bits": 4, "group_size": 128})
    assert found == 4096 * 1024 // 2 + 32 * 1024 * 2 + 32 * 1024 // 2


def test_gptq_keeps_an_index_of_groups():
    found = size({"quant_method": "gptq", "bits": 4, "group_size": 128})
    assert found == 4096 * 1024 // 2 + 32 * 1024 * 2 + 32 * 1024 // 2 + 4096 * 4


def test_nvfp4_keeps_an_fp8_scale_per_16_weights():
    block = {"quant_method": "modelopt", "quant_algo": "NVFP4", "group_size": 16}
    assert size(block) == 4096 * 1024 // 2 + 4096 * 1024 // 16 + 2 * 4


def test_nvfp4_scales_fill_whole_tiles_on_cards_that_compute_in_it():
    block = {"quant_method": "modelopt", "quant_algo": "NVFP4", "group_size": 16}
    odd = Linear("odd", 928, (100,))  # 58 columns of scales become 60, 100 rows become 128
    hopper, blackwell = (scheme(block, capability=each).kind_of(NAME) for each in ((9, 0), (12, 0)))
    assert hopper.linear(odd)[1] == 100 * 58
    assert blackwell.linear(odd)[1] == 128 * 60


def test_nvfp4_experts_without_a_gate_are_widened_to_whole_tiles():
    # Nemotron-3-Nano over 2 ranks: 928 columns become 1024
    block = {"quant_method": "modelopt", "quant_algo": "NVFP4", "group_size": 16}
    experts = Experts("experts", 128, 2688, 928, gated=False)
    stored = scheme(block, capability=(12, 0)).kind_of(NAME).experts(experts)
    assert stored[:4] == tuple(128 * each for each in (1024 * 1344, 2688 * 512, 1024 * 168, 2688 * 64))


def test_a_block_without_any_list_leaves_towers_alone():
    assert not scheme({"quant_method": "fp8", "weight_block_size": [128, 128]}).towers
    assert scheme({"quant_method": "fp8", "modules_to_not_convert": ["lm_head"]}).towers
    assert scheme({}, argument="fp8").towers


@pytest.mark.parametrize(
    ("release", "width", "hidden"),
    [({"mxfp4_multiples": {"9": [128, 256]}}, 2944, 3072), ({"mxfp4_multiples": {"9": [64, 1]}}, 2880, 2880)],
)
def test_mxfp4_experts_are_padded_as_their_kernel_needs(release, width, hidden):
    experts = Experts("mlp.experts", 4, 2880, 2880, bias=True)  # gpt-oss
    elements = 4 * 3 * width * hidden
    biases = 4 * (2 * width + hidden) * 2
    assert size({"quant_method": "mxfp4"}, experts, release=release) == elements // 2 + elements // 32 + biases


def test_compressed_integers_keep_a_shape():
    weights = {"num_bits": 4, "type": "int", "group_size": 128, "symmetric": True}
    block = {
        "quant_method": "compressed-tensors",
        "config_groups": {"group_0": {"weights": weights, "targets": ["Linear"]}},
    }
    assert size(block) == 4096 * 1024 // 2 + 32 * 1024 * 2 + 2 * 8


def test_each_group_of_targets_is_stored_its_own_way():
    eight = {"weights": {"num_bits": 8, "strategy": "tensor", "type": "float"}, "input_activations": {"dynamic": True}}
    four = {"weights": {"num_bits": 4, "type": "float", "group_size": 16}, "input_activations": {"dynamic": False}}
    groups = {"group_0": eight | {"targets": ["re:.*attn.*"]}, "group_1": four | {"targets": ["re:.*mlp.*"]}}
    found = scheme({"quant_method": "compressed-tensors", "config_groups": groups})
    assert type(found.kind_of("model.layers.0.self_attn.q_proj")).__name__ == "EightBit"
    assert type(found.kind_of(NAME)).__name__ == "NvFp4"
    assert found.kind_of("model.layers.0.conv.in_proj") is None


def test_mixed_precision_is_read_module_by_module():
    layers = {
        NAME: {"quant_algo": "NVFP4"},
        "lm_head": {"quant_algo": "FP8"},
        "model.layers.0.mlp.experts.3.up_proj": {"quant_algo": "FP8"},
    }
    found = scheme({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": layers})
    assert type(found.kind_of(NAME)).__name__ == "NvFp4"
    assert (
        type(found.kind_of("lm_head")).__name__
        == type(found.kind_of("model.layers.0.mlp.experts")).__name__
        == "EightBit"
    )
    assert found.kind_of("model.layers.1.mlp.down_proj") is None


def test_a_release_leaves_the_algorithms_alone_that_it_does_not_know():
    layers = {NAME: {"quant_algo": "W4A16_NVFP4"}}
    block = {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": layers}
    assert scheme(block, release={"modelopt_mixed": ["FP8", "NVFP4"]}).kind_of(NAME) is None


def test_the_separate_file_of_modelopt_counts_only_without_a_block_in_the_config():
    separate = {"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}}
    assert quantization_block({"hf_quant_config": separate})["quant_method"] == "modelopt"
    own = {"quant_method": "modelopt", "quant_algo": "NVFP4"}
    assert quantization_block({"hf_quant_config": separate, "quantization_config": own}) == own


def test_a_gguf_file_is_known_by_its_name_and_keeps_its_embedding_quantised():
    found = scheme_of({}, None, 2, "bartowski/Llama-3.1-8B-GGUF/Llama-3.1-8B-Q8_0.gguf")
    assert found.method == "gguf"
    assert sum(found.kind_of("model.embed_tokens").linear(MATRIX)) == round(4096 * 1024 * 8.5 / 8)


@pytest.mark.parametrize("name", ["lm_head", "model.embed_tokens", "backbone.embed_tokens"])
def test_most_methods_leave_the_vocabulary_alone(name):
    assert scheme({"quant_method": "awq"}).kind_of(name) is None


@pytest.mark.parametrize(
    ("entries", "name", "left_alone"),
    [
        (["model.layers.3.mlp.gate"], "model.layers.3.mlp.gate", True),
        (["model.layers.3.mlp.gate"], "model.layers.33.mlp.gate", False),
        (["model.layers.3.mlp"], "model.layers.3.mlp.gate", True),
        (["self_attn"], "model.layers.7.self_attn.q_proj", True),
        (["model.layers.*.self_attn*"], "model.layers.7.self_attn.q_proj", True),
        (["model.layers.61*"], "model.layers.6.mlp.up_proj", False),
        (["re:.*gate$"], "model.layers.7.mlp.gate", True),
        (["re:.*gate$"], "model.layers.7.mlp.gate_proj", False),
        (["model.language_model.layers.0.linear_attn*"], "model.layers.0.linear_attn.out_proj", True),
        (["model.visual*"], "visual.blocks.0.attn.qkv", True),
        (["model.layers.0.self_attn.q_proj"], "vision_tower.encoder.layers.0.self_attn.q_proj", False),
        (["mtp.layers.0*", "mtp*"], "model.layers.0.mlp.up_proj", False),
    ],
)
def test_lists_of_modules_are_read_in_their_several_spellings(entries, name, left_alone):
    assert skipper(entries)(name) is left_alone


def test_fp8_heeds_whole_names_only():
    found = scheme({"quant_method": "fp8", "modules_to_not_convert": ["model.visual", "visual.blocks.0.attn.qkv"]})
    assert found.kind_of("visual.blocks.0.mlp.fc1") is not None
    assert found.kind_of("visual.blocks.0.attn.qkv") is None


def test_deepseek_v4_keeps_exponents_as_scales_and_experts_in_four_bits():
    config = {"model_type": "deepseek_v4", "expert_dtype": "fp4", "quantization_config": {"quant_method": "fp8"}}
    kind = scheme_of(config, None, 2).kind_of("model.layers.0.attn.wq_b")
    assert sum(kind.linear(MATRIX)) == 4096 * 1024 + 32 * 8
    elements = 8 * 3 * 768 * 2048
    assert sum(kind.experts(EXPERTS)) == elements // 2 + elements // 32


def test_a_group_that_would_straddle_two_ranks_is_refused():
    straddling = MATRIX._replace(inputs=29568 // 8)  # Qwen2.5-72B-Instruct-AWQ at TP8
    with pytest.raises(UsageError) as error:
        size({"quant_method": "awq", "bits": 4, "group_size": 128}, straddling)
    assert error.value.slug == "not-whole-blocks"
