"""Does it start, and if not, where does it die: whole assessments against hand arithmetic and known truths of vLLM."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oomedic.arguments.given import EngineArgs, Given
from oomedic.engine.config import ModelFacts, configure
from oomedic.engine.rules import releases, rules_at
from oomedic.errors import OomedicError
from oomedic.figure import Figure, exactly, printed_gib
from oomedic.gathering.known_models import resolve
from oomedic.memory.assessment import assess, calibrate, widened
from oomedic.memory.known import Known
from oomedic.models.checkpoint import cache_facts, derived_max_model_len
from oomedic.sources.builtin import load
from oomedic.units import GIB
from oomedic.version import parse_version

CATALOGUE = load()
ROWS = CATALOGUE.engines()
LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
MODELS = (
    LLAMA,
    "Qwen/Qwen2.5-7B-Instruct",
    "mistralai/Mistral-7B-Instruct-v0.3",
    "google/gemma-3-27b-it",
    "openai/gpt-oss-20b",
    "deepseek-ai/DeepSeek-V2-Lite",
    "meta-llama/Llama-4-Scout-17B-16E-Instruct",
)


def checkpoint(name):
    return resolve(name, CATALOGUE).checkpoint


def config(version, model=LLAMA, gpu="A10G", environment=None, **given):
    args = EngineArgs({name: Given(value, "command line") for name, value in given.items()}, environment or {})
    found, rules = checkpoint(model), rules_at(parse_version(version), ROWS)
    facts = cache_facts(found)
    model_facts = ModelFacts(
        max_model_len=derived_max_model_len(found.config, rules.version),
        architecture=found.architecture,
        multimodal=found.is_multimodal,
        experts=bool(found.experts),
        recurrent=facts.recurrent,
        latent=facts.latent,
        windowed=facts.windowed,
    )
    return configure(args, model_facts, CATALOGUE.gpu(gpu), rules)


def assessed(version, model=LLAMA, gpu="A10G", known=None, environment=None, **given):
    found = config(version, model, gpu, environment, **given)
    return assess(checkpoint(model), found, CATALOGUE.gpu(gpu), known or Known())


def test_llama_on_an_a10g_by_hand():
    found = assessed("0.10.2", max_model_len=8192)
    total = CATALOGUE.gpu("A10G").memory.value
    budget = found.budget
    assert budget.requested.value == round(total * 0.9)
    # 8.03 billion parameters in bf16 and the rotary table: "Model loading took 14.99 GiB"
    assert budget.item("weights").value / GIB == pytest.approx(14.99, abs=0.01)
    # 256 rows of 128,256 logits, about 38 bytes each
    assert budget.item("activation").value == 256 * 128256 * 38
    inside = sum(budget.item(name).value for name in ("weights", "non_torch", "activation"))
    assert budget.available.value == budget.requested.value - inside
    # 32 layers x 2 x 8 heads x 128 x 2 bytes for a token, in blocks of 16
    block = 32 * 2 * 8 * 128 * 2 * 16
    assert found.kv.blocks == budget.available.value // block
    assert found.kv.tokens == found.kv.blocks * 16
    assert found.kv.needed == 8192 // 16 * block
    assert found.kv.max_concurrency == pytest.approx(found.kv.blocks / 512)
    assert (found.outcome, found.phase) == ("starts", None)


@pytest.mark.parametrize(
    ("version", "model", "gpu", "given_values", "phase"),
    [
        ("0.10.2", LLAMA, "A10G", {}, "kv_check"),  # 131072 tokens need 16 GiB
        ("0.10.2", LLAMA, "A10G", {"max_model_len": 8192}, None),
        ("0.10.2", LLAMA, "A10G", {"max_model_len": 8192, "gpu_memory_utilization": 1.0}, "free_memory_check"),
        ("0.10.2", LLAMA, "T4", {"max_model_len": 2048}, "weights_load"),  # 15 GiB on a card of 14.6
        ("0.10.2", LLAMA, "A10G", {"max_model_len": 2048, "gpu_memory_utilization": 0.5}, "kv_check"),
        ("0.20.0", "meta-llama/Llama-3.3-70B-Instruct", "H100", {"max_model_len": 4096}, "weights_load"),
        (
            "0.20.0",
            "meta-llama/Llama-3.3-70B-Instruct",
            "H100",
            {"max_model_len": 4096, "tensor_parallel_size": 2},
            None,
        ),
        ("0.20.0", "meta-llama/Llama-4-Scout-17B-16E-Instruct", "A10G", {"max_model_len": 8192}, "weights_load"),
        ("0.7.3", LLAMA, "A10G", {"max_model_len": 8192}, None),
    ],
)
def test_where_it_dies(version, model, gpu, given_values, phase):
    found = assessed(version, model, gpu, **given_values)
    assert (found.outcome, found.phase) == ("crashes" if phase else "starts", phase)


def test_heads_that_do_not_divide_are_refused():
    with pytest.raises(OomedicError) as refused:
        assessed("0.20.0", tensor_parallel_size=3)
    assert refused.value.slug == "not-divisible"


def test_without_a_model_only_its_weights_can_be_told():
    known = Known(
        weights=exactly(9_000_000_000, "assumed", "--weights"), total=exactly(24 * 10**9, "assumed", "--gpu-memory")
    )
    found = assess(
        None, configure(EngineArgs({}), ModelFacts(), None, rules_at(parse_version("0.10.2"), ROWS)), None, known
    )
    assert (found.outcome, found.missing) == ("unknown", ("model",))
    assert found.budget.left.value == 12_600_000_000


def test_without_a_card_the_parts_are_known_and_the_rest_is_not():
    found = assess(checkpoint(LLAMA), config("0.10.2"), None)
    assert found.budget.total is None
    assert found.budget.item("weights").value > 14 * GIB
    assert "gpu" in found.missing
    assert found.outcome == "unknown"


# Folklore against code


@pytest.mark.parametrize("version", ["0.8.5", "0.10.2", "0.18.1", "0.20.2", "0.32.0"])
def test_in_v1_a_shorter_length_does_not_change_the_pool(version):
    long, short = (assessed(version, max_model_len=length) for length in (32768, 4096))
    assert long.budget.available == short.budget.available


def test_in_v0_a_longer_length_shrinks_the_pool_until_prefill_is_chunked():
    blocks = {
        length: assessed("0.6.6", gpu="RTX 3090", max_model_len=length).kv.blocks
        for length in (8192, 20000, 29000, 35000)
    }
    assert blocks[8192] > blocks[20000] > blocks[29000]  # the profile run takes max_model_len tokens
    assert blocks[35000] > blocks[29000]  # above 32768 it takes 2048


@pytest.mark.parametrize(
    ("version", "gains"),
    [("0.8.5", False), ("0.10.2", False), ("0.19.0", False), ("0.20.0", True), ("0.23.0", False), ("0.32.0", True)],
)
def test_eager_mode_enlarges_the_pool_only_where_graphs_are_counted(version, gains):
    # Llama runs on the second model runner from 0.23 on, which counts its graphs since 0.30
    with_graphs, eager = (assessed(version, max_model_len=8192, enforce_eager=each) for each in (False, True))
    assert (eager.budget.available.value > with_graphs.budget.available.value) == gains
    assert eager.budget.available.value >= with_graphs.budget.available.value


def test_an_8_bit_cache_holds_twice_the_tokens_of_the_same_pool():
    half, full = (assessed("0.20.2", gpu="L40S", kv_cache_dtype=dtype, max_model_len=8192) for dtype in ("fp8", "auto"))
    assert half.budget.available == full.budget.available
    assert half.kv.needed * 2 == full.kv.needed
    assert half.kv.blocks in {2 * full.kv.blocks, 2 * full.kv.blocks + 1}


def test_weights_on_the_host_leave_their_room_to_the_cache():
    without, with_ = (assessed("0.20.2", gpu="A10G", max_model_len=4096, cpu_offload_gb=gib) for gib in (0, 4))
    assert without.budget.item("weights").value - with_.budget.item("weights").value == 4 * GIB
    assert with_.budget.available.value - without.budget.available.value == 4 * GIB


@pytest.mark.parametrize("version", ["0.10.2", "0.20.2"])
def test_a_pool_that_is_asked_for_is_what_there_is(version):
    found = assessed(version, max_model_len=8192, kv_cache_memory_bytes=2 * GIB)
    assert found.budget.item("kv_cache").value == 2 * GIB
    assert found.kv.tokens == 2 * GIB // (32 * 2 * 8 * 128 * 2)


# Laws


SHARES = st.sampled_from([0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.92, 0.95])
RELEASES = st.sampled_from([str(release) for release in releases(ROWS)])


@settings(max_examples=60, deadline=None)
@given(RELEASES, st.sampled_from(MODELS), SHARES, SHARES)
def test_a_larger_share_never_shrinks_the_pool(version, model, one, other):
    low, high = sorted((one, other))
    small, large = (
        assessed(version, model, "H200", max_model_len=4096, gpu_memory_utilization=share) for share in (low, high)
    )
    assert small.budget.available.value <= large.budget.available.value


@settings(max_examples=60, deadline=None)
@given(RELEASES, st.sampled_from(MODELS), st.integers(1, 8000), st.integers(1, 8000))
def test_a_longer_request_never_needs_less(version, model, one, other):
    short, long = sorted((one, other))
    needs = [assessed(version, model, "H200", max_model_len=length).kv for length in (short, long)]
    if all(needs):
        assert needs[0].needed <= needs[1].needed


@settings(max_examples=60, deadline=None)
@given(RELEASES, st.sampled_from(MODELS))
def test_more_ranks_never_load_more_weights_on_one(version, model):
    sizes = []
    for ranks in (1, 2, 4, 8):
        try:
            found = assessed(version, model, "H200", max_model_len=4096, tensor_parallel_size=ranks)
        except OomedicError:
            continue
        sizes.append(found.budget.item("weights").value)
    assert sizes == sorted(sizes, reverse=True)


@settings(max_examples=60, deadline=None)
@given(
    RELEASES,
    st.sampled_from(MODELS),
    st.sampled_from(["A10G", "L40S", "A100-SXM4-80GB", "H100", "H200"]),
    st.fixed_dictionaries(
        {"max_model_len": st.sampled_from([1024, 8192, 32768])},
        optional={
            "gpu_memory_utilization": SHARES,
            "max_num_seqs": st.sampled_from([1, 64, 512]),
            "tensor_parallel_size": st.sampled_from([1, 2, 4]),
            "enforce_eager": st.booleans(),
        },
    ),
)
def test_every_assessment_adds_up_and_agrees_with_itself(version, model, gpu, given_values):
    found = assessed(version, model, gpu, **given_values)
    budget = found.budget
    inside = [item.figure for item in budget.items if item.inside]
    if all(inside):
        assert sum(figure.value for figure in inside) + budget.left.value == budget.requested.value
    assert (found.outcome == "crashes") == (found.failed is not None)
    assert found.phase is None or any(check.phase == found.phase for check in found.checks)
    if found.kv is not None:
        assert found.kv.fits == (found.kv.estimated_max_model_len >= given_values["max_model_len"])


# What a run printed


def run(version="0.10.2", **printed):
    """A run of Llama at 8192 tokens that printed some figures, calibrated."""
    baseline = config(version, max_model_len=8192)
    known = Known(baseline=baseline, **{name: printed_gib(text, "log:9") for name, text in printed.items()})
    return baseline, calibrate(checkpoint(LLAMA), CATALOGUE.gpu("A10G"), known)


def again(known, baseline, **changes):
    changed = baseline.replaced(changes) if changes else baseline
    return assess(checkpoint(LLAMA), changed, CATALOGUE.gpu("A10G"), known)


@pytest.mark.parametrize("name", ["weights", "non_torch", "activation", "cuda_graphs"])
def test_a_printed_part_replaces_the_computed_one(name):
    baseline, known = run(**{name: "1.25"})
    assert again(known, baseline).budget.item(name) == Figure(
        round(1.25 * GIB), round(1.245 * GIB), round(1.255 * GIB), "printed", "log:9"
    )


def test_a_printed_pool_is_the_pool():
    baseline, known = run(pool="4.51")
    found = again(known, baseline)
    assert found.budget.item("kv_cache").origin == "printed"
    assert abs(found.budget.item("kv_cache").value - 4.51 * GIB) <= 0.005 * GIB + 1
    assert found.budget.left.value == 0


@pytest.mark.parametrize("change", [{"gpu_memory_utilization": 0.8}, {"max_model_len": 4096}, {"enforce_eager": True}])
def test_an_unrelated_knob_never_moves_a_printed_part(change):
    baseline, known = run(weights="15.10", non_torch="0.40")
    before, after = again(known, baseline).budget, again(known, baseline, **change).budget
    for name in ("weights", "non_torch"):
        assert before.item(name).value == after.item(name).value


def test_a_pool_that_was_printed_does_not_follow_the_length():
    baseline, known = run(pool="4.51")
    assert again(known, baseline, max_model_len=4096).budget.available == again(known, baseline).budget.available


def test_a_larger_share_goes_to_a_printed_pool_in_full():
    baseline, known = run(pool="4.51")
    before, after = (again(known, baseline, **change).budget for change in ({}, {"gpu_memory_utilization": 0.95}))
    gained = after.available.value - before.available.value
    assert gained == after.requested.value - before.requested.value


def test_what_the_formulas_missed_is_carried_over_to_a_changed_run():
    # the run had 1 GiB less for its cache than the formulas say; fewer sequences gain what the formulas say they gain
    baseline = config("0.10.2", max_model_len=8192)
    computed = assess(checkpoint(LLAMA), baseline, CATALOGUE.gpu("A10G")).budget
    fewer = baseline.replaced({"max_num_seqs": 64})
    gain = assess(checkpoint(LLAMA), fewer, CATALOGUE.gpu("A10G")).budget.available.value - computed.available.value
    assert gain > GIB // 4
    pool = exactly(computed.available.value - GIB, "printed", "log:9")
    known = calibrate(checkpoint(LLAMA), CATALOGUE.gpu("A10G"), Known(baseline=baseline, pool=pool))
    after = assess(checkpoint(LLAMA), fewer, CATALOGUE.gpu("A10G"), known)
    assert after.budget.available.value == pool.value + gain


def test_a_run_that_died_dies_again_unless_something_changes():
    baseline = config("0.10.2", max_model_len=8192)
    known = calibrate(
        checkpoint(LLAMA), CATALOGUE.gpu("A10G"), Known(baseline=baseline, died="profile_run", missing=GIB // 2)
    )
    assert again(known, baseline).phase == "profile_run"
    assert again(known, baseline).failed.margin.value == -GIB // 2
    assert again(known, baseline, max_num_seqs=64).phase is None  # the sampler's peak shrinks by 0.87 GiB
    assert again(known, baseline, gpu_memory_utilization=0.5).phase == "profile_run"  # the share is not applied yet


# Several releases


def test_a_spread_covers_every_release():
    each = [assessed(version, max_model_len=8192) for version in ("0.8.5", "0.10.2", "0.20.0", "0.30.0")]
    together = widened(each)
    for assessment in each:
        for item in assessment.budget.items:
            shown = together.budget.item(item.name)
            assert shown.low <= item.figure.low
            assert item.figure.high <= shown.high
        assert together.budget.requested.low <= assessment.budget.requested.value <= together.budget.requested.high
    assert together.budget.available.value == min(one.budget.available.value for one in each)


def test_releases_that_do_not_agree_leave_it_on_the_edge():
    # 0.99 of the card is more than is free: V0 did not ask, later releases refuse
    share = {"max_model_len": 8192, "gpu_memory_utilization": 0.99}
    old, new = assessed("0.7.3", **share), assessed("0.10.2", **share)
    assert (old.outcome, new.phase) == ("starts", "free_memory_check")
    assert (widened([old, new]).outcome, widened([old, new]).certainty) == ("crashes", "edge")
    assert widened([new, new]).certainty == new.certainty
