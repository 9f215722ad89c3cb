import pytest

from oomedic.models.modules import Experts


@pytest.mark.parametrize(
    ("name", "version", "ranks", "parameters"),
    [
        ("Qwen--Qwen3-30B-A3B", "0.18.1", 8, 7_680_585_728),
        ("mistralai--Mixtral-8x7B-v0.1", "0.9.2", 1, 93_405_585_408),
        ("ibm-granite--granite-3.1-1b-a400m-instruct", "0.28.0", 1, 2_669_381_632),
        ("ibm-research--moe-7b-1b-active-shared-experts", "0.28.0", 4, 3_191_393_280),
        ("rednote--dots.llm1", "0.11.2", 4, 71_435_966_720),
    ],
)
def test_a_mixture_of_experts_weighs_what_its_class_allocates(weigh, name, version, ranks, parameters):
    assert weigh(name, version, ranks) == parameters


def test_every_expert_is_loaded_whatever_the_active_parameters(stack_for):
    experts = [module for module in stack_for("Qwen--Qwen3-30B-A3B").layers[0].modules if isinstance(module, Experts)]
    assert [(each.experts, each.width, each.hidden) for each in experts] == [(128, 768, 2048)]


def test_expert_parallelism_keeps_whole_experts_on_a_rank(stack_for):
    stack = stack_for("Qwen--Qwen3-30B-A3B", tensor_parallel_size=4, expert_parallel=True)
    experts = next(module for module in stack.layers[0].modules if isinstance(module, Experts))
    assert (experts.experts, experts.width) == (32, 768)
