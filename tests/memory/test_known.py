"""What is known from outside the formulas, and how far it holds when something changes."""

from oomedic.arguments.given import EngineArgs, Given
from oomedic.engine.config import ModelFacts, configure
from oomedic.engine.rules import rules_at
from oomedic.figure import exactly, printed_gib
from oomedic.memory.known import NOTHING_KNOWN, Known
from oomedic.sources.builtin import load
from oomedic.version import Version

RULES = rules_at(Version(0, 10, 2), load().engines())


def config(**given):
    args = EngineArgs({name: Given(value, "command line") for name, value in given.items()})
    return configure(args, ModelFacts(max_model_len=8192), None, RULES)


def test_nothing_is_known_by_default():
    assert NOTHING_KNOWN.total is None
    assert [NOTHING_KNOWN.part(name) for name in ("weights", "non_torch", "activation", "cuda_graphs")] == [None] * 4
    assert NOTHING_KNOWN.is_baseline(config())


def test_a_part_is_what_was_printed_of_it():
    weights = printed_gib("14.99", "log:3")
    assert Known(weights=weights).part("weights") == weights
    assert Known(weights=weights).part("activation") is None


def test_only_the_run_itself_is_its_baseline():
    ran = config(max_num_seqs=64)
    known = Known(baseline=ran)
    assert known.is_baseline(ran)
    assert not known.is_baseline(ran.replaced({"max_num_seqs": 64}))
    assert not known.is_baseline(config(max_num_seqs=32))


def test_what_differs_from_the_run_is_named():
    ran = config(max_num_seqs=64)
    known = Known(baseline=ran)
    assert known.changed(ran) == frozenset()
    assert known.changed(ran.replaced({"max_num_seqs": 32, "enforce_eager": True})) == {"max_num_seqs", "enforce_eager"}
    assert known.changed(ran.replaced({"max_num_seqs": 64})) == frozenset()
    assert known.changed(ran.replaced({"cpu_offload_gb": 4})) == {"cpu_offload_gb"}


def test_figures_keep_their_origin():
    known = Known(total=exactly(24 * 10**9, "assumed", "--gpu-memory"), pool=printed_gib("4.51", "log:9"))
    assert (known.total.origin, known.pool.origin) == ("assumed", "printed")
