"""From the log of one start the tokens of another, which differs in one setting.

Each start is a real engine's. A pool of a given size is known to the byte, so that the prediction must be exact. Where
the pool is what the worker's process leaves of its share of the host's memory, two starts with the same settings differ
by some 0.05 %.
"""

import sys

import pytest

from oomedic.arguments.given import NOTHING_GIVEN
from oomedic.evidence import Subject
from oomedic.gathering.gather import EngineOptions, Sources, gather
from oomedic.gathering.known_models import Resolved
from oomedic.logs.signatures import Signatures
from oomedic.sources.builtin import load
from oomedic.sources.files import read_checkpoint

pytestmark = pytest.mark.engine
FIRST = {"max_model_len": 8192, "max_num_seqs": 64, "enforce_eager": True, "load_format": "dummy"}
CHANGES = [{"max_model_len": 1000}, {"max_num_seqs": 4}, {"block_size": 64}, {"kv_cache_dtype": "fp8"}]
MEASURED = [{"gpu_memory_utilization": 0.13}, {"max_model_len": 65536}, {"max_num_seqs": 512}, {"block_size": 32}]


def written(change):
    return ", ".join(f"{name} {value}" for name, value in change.items())


@pytest.fixture(scope="module")
def log_of(start):
    """Start an engine with these arguments, each only once."""
    logs = {}

    def run(model, variables, arguments):
        key = str((model, variables, arguments))
        if key in logs:
            sys.stdout.write(logs[key].decode(errors="replace"))
        else:
            status, logs[key] = start(f"pair-{len(logs)}", variables, engine={"model": str(model), **arguments})
            assert status == 0
        return logs[key]

    return run


@pytest.mark.parametrize("change", CHANGES, ids=written)
@pytest.mark.parametrize("model", ["tiny", "windowed"])
def test_in_a_pool_of_a_given_size_the_tokens_are_exact(model, change, request, log_of, pairs):
    folder, given = request.getfixturevalue(model), {"VLLM_CPU_KVCACHE_SPACE": "1"}
    one, two = log_of(folder, given, FIRST), log_of(folder, given, FIRST | change)
    for log, other, changed in ((one, two, change), (two, one, before(change))):
        predicted, printed = predict(log, folder, changed), tokens(other)
        pairs.append((f"{model}, 1 GiB: {written(changed)}", predicted, printed))
        assert predicted == printed


@pytest.mark.parametrize("change", MEASURED, ids=written)
def test_in_a_pool_that_the_engine_measured_the_tokens_are_within_half_a_percent(change, tiny, log_of, pairs):
    first = FIRST | {"gpu_memory_utilization": 0.1}
    one, two = log_of(tiny, {}, first), log_of(tiny, {}, first | change)
    for log, other, changed in ((one, two, change), (two, one, before(change, first))):
        predicted, printed = predict(log, tiny, changed), tokens(other)
        pairs.append((f"tiny, measured: {written(changed)}", predicted, printed))
        assert predicted == pytest.approx(printed, rel=0.005)


def before(change, first=FIRST):
    """Return the change back."""
    usual = {"block_size": 128, "kv_cache_dtype": "auto"}
    return {name: (usual | first)[name] for name in change}


def predict(log, folder, change):
    evidence = gathered(log, folder)
    return evidence.assess(evidence.config.replaced(change)).kv.tokens


def tokens(log):
    return next(event.fields["tokens"] for event in read(log) if event.signature == "kv_cache_size")


def gathered(log, folder):
    model = Resolved(str(folder), read_checkpoint(str(folder)), "exact")
    return gather(Sources(Subject(), read(log), NOTHING_GIVEN, None, model, EngineOptions()), load())


def read(log):
    return tuple(Signatures(load().signatures()).read([log]))
