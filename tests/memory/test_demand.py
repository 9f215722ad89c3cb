"""What one rank asks of its GPU, part by part."""

from itertools import pairwise

import pytest

from oomedic.arguments.given import EngineArgs, Given
from oomedic.engine.config import ModelFacts, configure
from oomedic.engine.rules import releases, rules_at
from oomedic.gathering.known_models import resolve
from oomedic.memory.demand import counted, demands, non_torch, plan_rules, request_of, workspace
from oomedic.memory.kv_plan import plan
from oomedic.sources.builtin import load
from oomedic.units import GIB
from oomedic.version import parse_version

CATALOGUE = load()
ROWS = CATALOGUE.engines()
LLAMA = resolve("meta-llama/Llama-3.1-8B-Instruct", CATALOGUE).checkpoint
RELEASES = [str(release) for release in releases(ROWS)]


def config(version, environment=None, **given):
    args = EngineArgs({name: Given(value, "command line") for name, value in given.items()}, environment or {})
    model = ModelFacts(max_model_len=8192, architecture="LlamaForCausalLM")
    return configure(args, model, CATALOGUE.gpu("H100"), rules_at(parse_version(version), ROWS))


def of(version, model=LLAMA, **given):
    return demands(model, config(version, **given), CATALOGUE.gpu("H100"))


def test_every_part_of_a_known_model_is_told_with_a_band():
    (demand,) = of("0.10.2")
    for figure in (demand.weights, demand.non_torch, demand.activation, demand.cuda_graphs, demand.warm_up):
        assert figure.low <= figure.value <= figure.high
        assert figure.value > 0
    assert demand.weights.origin == "computed"
    assert demand.non_torch.origin == "assumed"
    assert demand.cut.layers


def test_of_an_unknown_model_nothing_is_guessed():
    (demand,) = of("0.10.2", None)
    assert (demand.weights, demand.non_torch, demand.activation, demand.cuda_graphs, demand.cut) == (None,) * 5
    (eager,) = of("0.10.2", None, enforce_eager=True)
    assert eager.cuda_graphs.value == 0


def test_the_peak_is_the_largest_of_its_parts_and_named():
    # 1024 x 128,256 x 38 bytes are 4.65 GiB; a layer of 8192 tokens takes 2 x 8192 x (3 x 14336 + 3 x 4096) = 0.84
    (many,) = of("0.10.2", max_num_seqs=1024)
    assert (many.peak, many.activation.value) == ("sampler", 1024 * 128256 * 38)
    (few,) = of("0.10.2", max_num_seqs=8)
    assert (few.peak, few.activation.value) == ("forward", 2 * 8192 * (3 * 14336 + 3 * 4096))


def test_only_v1_warms_its_sampler_up():
    assert of("0.10.2")[0].warm_up is not None
    assert of("0.7.3")[0].warm_up is None


@pytest.mark.parametrize("version", RELEASES)
def test_several_ranks_hold_more_outside_torch(version):
    one, two = non_torch(config(version)), non_torch(config(version, tensor_parallel_size=2))
    assert one.value <= two.value
    assert one.high <= two.high


@pytest.mark.parametrize("version", RELEASES)
def test_what_no_formula_gives_has_a_band_and_names_its_file(version):
    found = config(version)
    for key in ("context", "non_torch_tp1", "non_torch_tp", "nccl_before_snapshot", "workspace"):
        figure = counted(found, key)
        assert 0 <= figure.low <= figure.value <= figure.high <= 5 * GIB
        assert figure.where.endswith(f".toml:counted.{key}")
    assert workspace(found).origin == "assumed"


def test_nccl_takes_its_memory_before_the_snapshot_since_0_11():
    assert counted(config("0.10.2"), "nccl_before_snapshot").value == 0
    assert counted(config("0.11.0"), "nccl_before_snapshot").value > 0


@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_ranks_share_the_weights_and_repeat_little(ranks):
    (whole,), (part,) = of("0.20.2"), of("0.20.2", tensor_parallel_size=ranks)
    assert whole.weights.value / ranks <= part.weights.value <= whole.weights.value / ranks * 1.05


@pytest.mark.parametrize("stages", [2, 3, 5])
def test_pipeline_stages_share_layers_and_weights(stages):
    found = of("0.20.2", pipeline_parallel_size=stages)
    assert len(found) == stages
    assert found[0].stage.is_first
    assert found[-1].stage.is_last
    assert sum(each.stage.end - each.stage.start for each in found) == 32
    assert all(one.stage.end == other.stage.start for one, other in pairwise(found))
    (whole,) = of("0.20.2")
    assert sum(each.weights.value for each in found) == pytest.approx(whole.weights.value, rel=0.02)
    assert sum(len(each.cut.layers) for each in found) == len(whole.cut.layers)


@pytest.mark.parametrize("gib", [0, 1, 4])
def test_weights_on_the_host_are_not_on_the_gpu(gib):
    (without,), (offloaded,) = of("0.20.2"), of("0.20.2", cpu_offload_gb=gib)
    assert without.weights.value - offloaded.weights.value == gib * GIB


def test_only_decoder_layers_can_be_offloaded():
    # what stays: embedding and output projection of 128,256 x 4096, the last norm, 131,072 rotary rows of 128
    stays = 2 * (2 * 128256 * 4096 + 4096 + 131072 * 128)
    (offloaded,) = of("0.8.5", cpu_offload_gb=30)
    assert offloaded.weights.value == pytest.approx(stays, rel=1e-3)
    # 0.8.5.post1 printed it (github.com/shinrin2/vllm-kvcache, vllm-serve.log)
    assert offloaded.weights.value / GIB == pytest.approx(1.9884, rel=1e-3)


LORA = {"enable_lora": True, "max_lora_rank": 32}
# of one layer for each unit of rank: A of q, k, v, o, gate, up (4096 each) and down (14336), and the widths of B
SLOTS = 2 * 32 * 32 * (6 * 4096 + 14336 + 4096 + 2 * 1024 + 4096 + 2 * 14336 + 4096)
# embedding and output projection have slots too
ENDS = 2 * 2 * 32 * (4096 + 128256)


@pytest.mark.parametrize(("version", "held"), [("0.7.3", 0), ("0.8.5", SLOTS + ENDS)])
def test_v0_counts_lora_slots_as_weights_since_0_8(version, held):
    v0 = {"VLLM_USE_V1": "0"}
    without, with_ = (
        demands(LLAMA, config(version, v0, **given), CATALOGUE.gpu("H100"))[0].weights.value for given in ({}, LORA)
    )
    assert with_ - without == pytest.approx(held, rel=0.01)


@pytest.mark.parametrize("tokens", [2048, 8192])
def test_a_class_with_images_keeps_embeddings_for_each_layer_of_a_batch(tokens):
    gemma = resolve("google/gemma-4-E4B-it", CATALOGUE).checkpoint
    (small,), (large,) = (of("0.22.1", gemma, max_num_batched_tokens=count) for count in (1024, tokens))
    # 42 layers of 256 values of 2 bytes, to a segment of 2 MiB
    grown = large.weights.value - small.weights.value
    assert grown == pytest.approx((tokens - 1024) * 42 * 256 * 2, abs=2 * 2**20)


@pytest.mark.parametrize(
    ("version", "given", "in_flight"),
    [
        ("0.25.0", {}, 2048),
        (
            "0.26.0",
            {"environment": {"VLLM_USE_V2_MODEL_RUNNER": "0"}},
            4096,
        ),  # two batches, for scheduling is asynchronous
        ("0.26.0", {"environment": {"VLLM_USE_V2_MODEL_RUNNER": "0"}, "async_scheduling": False}, 2048),
        ("0.26.0", {"environment": {"VLLM_USE_V2_MODEL_RUNNER": "1"}, "pipeline_parallel_size": 2}, 3 * 2048),
    ],
)
def test_windows_keep_the_tokens_of_the_batches_in_flight_since_0_26(version, given, in_flight):
    found = config(version, max_num_batched_tokens=2048, **given)
    assert request_of(found, 8192).in_flight == in_flight
    assert request_of(found, 8192).length == 8192


GATED_DELTA = resolve("Qwen/Qwen3.6-27B", CATALOGUE).checkpoint
MAMBA = resolve("ibm-granite/granite-4.0-h-small", CATALOGUE).checkpoint


@pytest.mark.parametrize(
    ("model", "version", "given", "mode"),
    [
        (GATED_DELTA, "0.26.0", {}, "none"),  # "keep it opt-in for now": hybrids cache no prefixes unless asked to
        (GATED_DELTA, "0.27.1", {}, "none"),
        (GATED_DELTA, "0.27.1", {"enable_prefix_caching": True}, "align"),
        (GATED_DELTA, "0.28.0", {}, "align"),
        (GATED_DELTA, "0.28.0", {"enable_prefix_caching": False}, "none"),
        (GATED_DELTA, "0.13.0", {"enable_prefix_caching": True}, "none"),  # its class cannot, so it is switched off
        (GATED_DELTA, "0.15.0", {"enable_prefix_caching": True}, "align"),
        (MAMBA, "0.27.1", {"enable_prefix_caching": True}, "all"),
        (MAMBA, "0.28.0", {}, "align"),
        (MAMBA, "0.28.0", {"mamba_cache_mode": "all"}, "all"),
    ],
)
def test_what_prefix_caching_keeps_of_a_state_depends_on_release_and_class(model, version, given, mode):
    (demand,) = of(version, model, **given)
    assert {spec.mode for spec in demand.cut.layers if spec.kind == "state"} == {mode}


def test_a_hybrid_of_0_27_holds_as_many_requests_as_it_printed():
    # Qwen3.6-27B on 2 x A100, 44.73 GiB: 1,869 blocks; a request of 65,536 tokens takes 84 and one for each of 3 groups
    (demand,) = of("0.27.1", GATED_DELTA, tensor_parallel_size=2, max_model_len=65536)
    settings = config("0.27.1", tensor_parallel_size=2, max_model_len=65536)
    planned = plan(demand.cut, round(44.73 * GIB), request_of(settings, 65536), plan_rules(settings))
    assert (planned.blocks, planned.tokens, round(planned.max_concurrency, 2)) == (1869, 1407894, 21.48)


@pytest.mark.parametrize(
    ("name", "version", "given", "printed"),
    [
        # github.com/sostrowsk/dgx-spark-local-llm qwen36.log and qwen38-int4.log: the drafts are not quantised, and
        # integers take linear attention too
        ("RedHatAI/Qwen3.6-35B-A3B-NVFP4", "0.25.1", {"method": "mtp", "num_speculative_tokens": 3}, 23.45),
        ("RedHatAI/Qwen3.8-27B-INT4", "0.25.1", {"method": "mtp", "num_speculative_tokens": 3}, 18.5),
        ("zai-org/GLM-OCR", "0.17.1", None, 2.2),
        ("microsoft/phi-1_5", "0.6.4", None, 2.6419),
    ],
)
def test_weights_come_out_as_they_were_printed(name, version, given, printed):
    model = resolve(name, CATALOGUE).checkpoint
    settings = config(version, **({"speculative_config": given} if given else {}))
    (demand,) = demands(model, settings, CATALOGUE.gpu("GB10"))
    assert demand.weights.value / GIB == pytest.approx(printed, rel=0.006)
