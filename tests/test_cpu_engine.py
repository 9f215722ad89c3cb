"""vLLM 0.32.0 built for CPUs, by its own lines: the tiny model of tests/engine, started with one setting changed."""

import pytest
from rig.model import CONFIG

from oomedic.arguments.given import NOTHING_GIVEN
from oomedic.evidence import Subject
from oomedic.gathering.gather import EngineOptions, Sources, gather
from oomedic.gathering.known_models import Resolved
from oomedic.models.checkpoint import Checkpoint
from oomedic.sources.builtin import load
from oomedic.units import GIB

START = """\
INFO 11-30 19:07:46 [api_utils.py:286] non-default args: {'max_model_len': 8192, 'max_num_seqs': 64, %s'model': 'tiny'}
INFO 11-30 19:07:47 [core.py:133] Initializing a V1 LLM engine (v0.32.0) with config: model='tiny', \
dtype=torch.bfloat16, max_seq_len=8192, enforce_eager=True, kv_cache_dtype=auto, device_config=cpu
"""
MEASURED = START % "'gpu_memory_utilization': 0.1, " + (
    "INFO 11-30 19:07:53 [cpu_worker.py:260] Auto set (1.25/19.84) GiB for KV cache on node 0, with 1.98 GiB requested "
    "memory for the worker. 0.73 GiB memory was consumed by non-kv usages.\n"
    "INFO 11-30 19:07:53 [kv_cache_utils.py:2327] CPU KV cache size: 657,536 tokens, Maximum concurrency for 8,192 "
    "tokens per request: 80.27x\n"
)
GIVEN = START % "" + "INFO [cpu_worker.py:260] Explicitly set (1.0/19.09) GiB for KV cache on node 0.\n"


def evidence(events):
    model = Resolved("tiny", Checkpoint("tiny", CONFIG, "config.json"), "exact")
    return gather(Sources(Subject(), events, NOTHING_GIVEN, None, model, EngineOptions()), load())


@pytest.mark.parametrize(
    ("change", "printed"),
    [({}, 657_536), ({"max_model_len": 65_536}, 648_576), ({"max_num_seqs": 512}, 648_576)],
)
def test_a_measured_pool_pays_for_the_batch_that_the_worker_holds(change, printed, events_of):
    known = evidence(events_of(MEASURED))
    assert known.assess(known.config.replaced(change)).kv.tokens == pytest.approx(printed, rel=0.0005)


def test_a_larger_share_of_the_host_goes_to_the_pool(events_of):
    known = evidence(events_of(MEASURED))
    larger = known.assess(known.config.replaced({"gpu_memory_utilization": 0.2})).budget.available.value
    assert larger - known.assessment.budget.available.value == pytest.approx(0.1 * 19.84 * GIB, rel=0.001)


def test_a_pool_of_a_given_size_is_what_it_is_and_tells_nothing_of_the_rest(events_of):
    known = evidence(events_of(GIVEN))
    assert known.assessment.budget.item("kv_cache").value == GIB
    assert known.assessment.kv.tokens == GIB // 2048  # 4 layers x 2 KV heads x 64 x (key, value) x 2 bytes
    assert known.known.corrections == {}


def test_blocks_are_larger_and_there_are_no_graphs_and_no_card(events_of):
    known = evidence(events_of(GIVEN.replace("enforce_eager=True", "enforce_eager=False")))
    assert known.assessment.kv.block_size == 128
    assert known.assessment.budget.item("cuda_graphs").value == 0
    assert (known.gpu, known.cards) == (None, ())
