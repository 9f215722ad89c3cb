"""Another card brings its own defaults, and what was given stands."""

import pytest

from oomedic.arguments.given import EngineArgs, Given
from oomedic.engine.config import ModelFacts, configure
from oomedic.engine.other_card import on_card
from oomedic.engine.rules import rules_at
from oomedic.sources.builtin import load
from oomedic.version import Version


@pytest.fixture(scope="module")
def catalogue():
    return load()


def configured(catalogue, release, card, **given):
    args = EngineArgs({name: Given(value, "args[0]") for name, value in given.items()})
    return configure(args, ModelFacts(max_model_len=8192), catalogue.gpu(card), rules_at(release, catalogue.engines()))


def moved(catalogue, config, card):
    return on_card(config, {}, ModelFacts(max_model_len=8192), catalogue.gpu(card))


def test_batches_are_those_of_the_other_card(catalogue):
    a10g = configured(catalogue, Version(0, 10, 2), "A10G")
    # vllm arg_utils.py: an API server takes 8192 tokens a step on cards of 70 GiB and more, 2048 on smaller ones
    assert (a10g.integer("max_num_batched_tokens"), a10g.integer("max_num_seqs")) == (2048, 256)
    h100 = moved(catalogue, a10g, "NVIDIA H100 80GB HBM3")
    assert (h100.integer("max_num_batched_tokens"), h100.integer("max_num_seqs")) == (8192, 1024)


def test_what_was_given_stands(catalogue):
    a10g = configured(catalogue, Version(0, 10, 2), "A10G", max_num_seqs=32, gpu_memory_utilization=0.8)
    h100 = moved(catalogue, a10g, "NVIDIA H100 80GB HBM3")
    assert (h100.integer("max_num_seqs"), h100.utilization) == (32, 0.8)
    assert h100.is_given("max_num_seqs")


def test_an_old_card_ran_the_old_engine(catalogue):
    t4 = configured(catalogue, Version(0, 9, 2), "T4")
    assert t4.generation == "V0"
    assert moved(catalogue, t4, "L4").generation == "V1"
