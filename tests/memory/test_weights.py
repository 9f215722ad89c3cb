import pytest
from hypothesis import given
from hypothesis import strategies as st

from oomedic.memory.allocator import counted
from oomedic.memory.weights import Stage, encoder_weights, stage_weights, stages
from oomedic.models.architectures import stack_of
from oomedic.models.checkpoint import Checkpoint
from oomedic.models.modules import Shard
from oomedic.models.quantization import scheme_of
from oomedic.sources.builtin import load
from oomedic.units import GIB, MIB

LLAMA = {
    "model_type": "llama",
    "hidden_size": 512,
    "intermediate_size": 1024,
    "num_hidden_layers": 6,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "vocab_size": 1000,
    "max_position_embeddings": 128,
    "torch_dtype": "bfloat16",
}


def weights(config, ranks=1, *, whole_segments=False, stage=None, **scheme):
    stack = stack_of(config, Shard(ranks))
    whole = stage or Stage(0, len(stack.layers), is_first=True, is_last=True)
    return stage_weights(stack, scheme_of(config, None, 2, **scheme), whole, whole_segments=whole_segments)


@pytest.mark.parametrize(
    ("model", "ranks", "printed"),
    [
        # "Model loading took X GiB" of published start-ups before 0.21
        ("meta-llama/Llama-3.1-8B-Instruct", 1, 14.9888),
        ("Qwen/Qwen2-7B-Instruct", 1, 14.2488),
        ("Qwen/Qwen2.5-14B-Instruct", 1, 27.5681),
        ("Qwen/Qwen2.5-3B-Instruct", 1, 5.7916),
        ("Qwen/Qwen3-8B", 1, 15.2683),
        ("meta-llama/Llama-3.2-3B-Instruct", 1, 6.0160),
        ("Qwen/Qwen2.5-72B-Instruct", 4, 33.9835),
        ("Qwen/Qwen2-7B-Instruct", 2, 7.1217),
    ],
)
def test_what_torch_allocates_is_what_the_engine_printed(model, ranks, printed):
    found = load().model(model)
    assert weights(found.config, ranks).allocated / GIB == pytest.approx(printed, abs=0.004)


def test_since_0_21_large_blocks_are_never_shared():
    config = load().model("Qwen/Qwen2-7B-Instruct").config
    assert weights(config, whole_segments=True).allocated / GIB == pytest.approx(14.29, abs=0.005)


@pytest.mark.parametrize(
    ("size", "blocks"),
    [(1, 512), (512, 512), (513, 1024), (MIB + 1, MIB + 512), (10 * MIB, 10 * MIB), (11 * MIB + 1, 12 * MIB)],
)
def test_a_tensor_takes_whole_allocator_blocks(size, blocks):
    assert counted([size]) == blocks


def test_a_large_tensor_leaves_more_than_a_mebibyte_to_others():
    assert counted([10 * MIB + 512]) == 10 * MIB + 512
    assert counted([30 * MIB + 512], whole_segments=True) == 32 * MIB


@given(st.integers(1, 2**34), st.booleans())
def test_an_allocation_holds_its_tensor_and_less_than_two_mebibytes_more(size, whole):
    found = counted([size], whole_segments=whole)
    assert size <= found < size + 2 * MIB
    assert found % 512 == 0


@pytest.mark.parametrize("count", [1, 2, 3, 4, 6])
def test_the_stages_of_a_pipeline_hold_every_layer_once(count):
    found = stages(6, count)
    assert [index for stage in found for index in range(stage.start, stage.end)] == list(range(6))
    assert [stage.is_first for stage in found].count(True) == [stage.is_last for stage in found].count(True) == 1


def test_the_remainder_goes_to_the_stages_before_the_last():
    assert [stage.end - stage.start for stage in stages(80, 3)] == [27, 27, 26]


def test_a_given_partition_is_heeded():
    assert [(stage.start, stage.end) for stage in stages(6, 2, (1, 5))] == [(0, 1), (1, 6)]


def test_the_stages_together_hold_the_model():
    shares = [weights(LLAMA, stage=stage).parameters for stage in stages(6, 3)]
    assert sum(shares) == weights(LLAMA).parameters


def test_a_tied_head_is_copied_where_embedding_and_head_are_on_different_stages():
    tied = LLAMA | {"tie_word_embeddings": True}
    shares = [weights(tied, stage=stage).parameters for stage in stages(6, 2)]
    # the vocabulary is padded to 1024 rows
    assert sum(shares) - weights(tied).parameters == 1024 * 512 * 2


def test_a_rank_has_its_share_of_the_matrices_and_all_of_the_norms():
    one, two = weights(LLAMA).parameters, weights(LLAMA, 2).parameters
    norms = (2 * 6 + 1) * 512 * 2
    assert two - norms == (one - norms) // 2


def test_key_and_value_heads_are_held_by_several_ranks_when_there_are_fewer():
    two, four = weights(LLAMA, 2).parameters, weights(LLAMA, 4).parameters
    norms = (2 * 6 + 1) * 512 * 2
    # at TP4 each rank still holds one of two heads: 64 x 512 for keys and for values, in six layers
    assert four - norms == (two - norms) // 2 + 6 * 2 * 64 * 512 * 2 // 2


def test_the_rotary_table_is_a_buffer_on_every_rank():
    assert weights(LLAMA, 4).buffers == weights(LLAMA).buffers == 128 * 64 * 2


def test_layers_that_a_method_leaves_alone_are_sized_one_by_one():
    whole = LLAMA | {"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}
    skipped = {"modules_to_not_convert": ["model.layers.3.mlp.down_proj"]}
    partly = LLAMA | {"quantization_config": whole["quantization_config"] | skipped}
    # one matrix of 1024 x 512 in 16 bits, without its 8 x 4 scales
    assert weights(partly).parameters - weights(whole).parameters == 1024 * 512 - 8 * 4 * 4


def test_the_encoder_alone_is_a_part_of_the_first_stage():
    config = load().model("Qwen/Qwen2.5-VL-3B-Instruct").config
    stack, scheme = stack_of(config, Shard()), scheme_of(config, None, 2)
    text = stage_weights(stack._replace(encoder=()), scheme, Stage(0, len(stack.layers), is_first=True, is_last=True))
    assert encoder_weights(stack, scheme).parameters == weights(config).parameters - text.parameters


def test_a_checkpoint_knows_its_architecture():
    assert Checkpoint("own", LLAMA, "path").is_known
