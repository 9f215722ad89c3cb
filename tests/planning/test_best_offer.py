"""The first offer of a plan, without the rest of it: what lint shows."""

import pytest

from oomedic.arguments.reader import read_argv, words_of
from oomedic.gathering.gather import EngineOptions
from oomedic.pipeline import Library, Question, Shelf, causes_for, diagnosed, remedies_of
from oomedic.planning.plan import best_offer, make_plan
from oomedic.sources.builtin import load
from oomedic.understanding import Life, evidence_of

CATALOGUE = load()
SHELF = Shelf(CATALOGUE)
MODELS = ("meta-llama/Llama-3.1-8B-Instruct", "Qwen/Qwen2.5-32B-Instruct", "google/gemma-3-27b-it")
ARGUMENTS = ("", "--gpu-memory-utilization=0.5", "--max-num-seqs=1024 --max-num-batched-tokens=65536")


@pytest.mark.parametrize("gpu", ["T4", "A10G", "H100"])
@pytest.mark.parametrize("vllm", ["0.6.3", "0.10.2", "0.20.0"])
def test_it_is_the_one_that_the_whole_plan_would_offer_first(gpu, vllm):
    asked = 0
    for model in MODELS:
        for arguments in ARGUMENTS:
            command = read_argv(words_of("--model", model, *arguments.split()), CATALOGUE.arguments)
            question = Question(command=command, options=EngineOptions(gpu=gpu, vllm=vllm))
            evidence = evidence_of(question, Library(CATALOGUE, ""), Life())
            causes = causes_for(evidence, CATALOGUE)
            for finding in diagnosed(evidence, causes, CATALOGUE).findings:
                cause = next(each for each in causes if each.code == finding.code)
                remedies = remedies_of(cause.helps, CATALOGUE)
                whole = make_plan(evidence, finding, cause, remedies, SHELF)
                assert best_offer(evidence, finding, cause, remedies, SHELF) == whole.best
                asked += 1
    assert asked or gpu == "H100"
