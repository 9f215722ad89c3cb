import pytest

from oomedic.errors import InputError
from oomedic.memory.weights import Stage, stage_weights
from oomedic.models.architectures import stack_of, with_draft
from oomedic.models.modules import Shard
from oomedic.models.quantization import scheme_of


def draft_bytes(config, ranks=1, release=None):
    shard = Shard(ranks, release=release or {})
    plain, scheme = stack_of(config, shard), scheme_of(config, None, 2)
    stage = Stage(0, len(plain.layers), is_first=True, is_last=True)
    drafted = with_draft(plain, config, shard)
    return stage_weights(drafted, scheme, stage).parameters - stage_weights(plain, scheme, stage).parameters


@pytest.mark.parametrize(
    ("name", "ranks", "size"),
    [
        ("Qwen--Qwen3.5-397B-A17B", 8, 1_655_751_680),
        ("deepseek-ai--DeepSeek-V3", 8, 1_661_047_968),
        ("deepseek-ai--DeepSeek-V3.2", 8, 1_676_387_488),
        ("zai-org--GLM-5-FP8", 1, 10_033_419_712),
        ("XiaomiMiMo--MiMo-7B-Base", 8, 111_453_696),
        ("XiaomiMiMo--MiMo-V2-Flash", 8, 108_314_520),
    ],
)
def test_multi_token_prediction_weighs_what_vllm_0_28_allocates(config_named, name, ranks, size):
    assert draft_bytes(config_named(name), ranks) == pytest.approx(size, abs=8)


def test_nemotron_names_its_draft_by_letters(config_named):
    config = dict(config_named("nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-FP8"))
    del config["hf_quant_config"]  # as the record was built
    assert draft_bytes(config, 8) == 755_542_016


def test_older_releases_keep_another_output_projection(config_named):
    # the record of 0.11.2: 16,160 x 7,168 in bf16 more
    assert draft_bytes(config_named("deepseek-ai--DeepSeek-V3"), 8, {"draft_heads": "own"}) == 1_892_717_728


def test_a_list_that_spares_the_draft_leaves_it_unquantised(config_named):
    # the checkpoint's list has mtp.layers.0*: bf16 as in Qwen3.5-397B-A17B
    assert draft_bytes(config_named("nvidia--Qwen3.5-397B-A17B-NVFP4"), 8) == 1_655_751_680


def test_the_draft_stands_behind_the_last_layer(config_named):
    config = config_named("Qwen--Qwen3.5-27B")
    stack = with_draft(stack_of(config, Shard()), config, Shard())
    count = len(stack.layers)
    assert len(stack.caches(0, count, is_last=True)) == len(stack.caches(0, count, is_last=False)) + 1


def test_a_last_stage_of_its_own_keeps_another_embedding(config_named):
    config = config_named("XiaomiMiMo--MiMo-7B-Base")
    plain = stack_of(config, Shard())
    stack, scheme = with_draft(plain, config, Shard()), scheme_of(config, None, 2)
    last = Stage(18, 36, is_first=False, is_last=True)
    more = stage_weights(stack, scheme, last).parameters - stage_weights(plain, scheme, last).parameters
    assert more == 421_580_800 + 151_680 * 4096 * 2


def test_a_draft_of_an_unknown_kind_is_unknown_not_absent(config_named):
    config = config_named("Qwen--Qwen3-32B")
    assert with_draft(stack_of(config, Shard()), config, Shard()).draft is None


def test_a_draft_of_letters_that_mean_nothing_is_an_error_of_ours(config_named):
    config = config_named("nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-FP8") | {"mtp_hybrid_override_pattern": "?"}
    with pytest.raises(InputError) as error:
        with_draft(stack_of(config, Shard()), config, Shard())
    assert error.value.slug == "config-malformed"
