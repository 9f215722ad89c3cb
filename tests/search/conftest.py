import pytest

from oomedic.arguments.given import EngineArgs, Given
from oomedic.gathering.gather import EngineOptions
from oomedic.instance import instances_of
from oomedic.question import Library, Question
from oomedic.sizing import Order, wish_of
from oomedic.sources.builtin import load


@pytest.fixture(scope="session")
def catalogue():
    return load()


@pytest.fixture(scope="session")
def instances(catalogue):
    return instances_of(catalogue.instances(), catalogue.gpu)


@pytest.fixture(scope="session")
def library(catalogue):
    return Library(catalogue, "tests")


@pytest.fixture(scope="session")
def make_wish(library):
    """Return what the command line would ask of the search."""

    def make(model, *, checkpoint=None, vllm=None, given=(), **order):
        arguments = {"model": Given(model, "test"), **{name: Given(value, "test") for name, value in given}}
        question = Question(command=EngineArgs(arguments), options=EngineOptions(vllm=vllm), checkpoint=checkpoint)
        return wish_of(question, library, Order(**order))

    return make


@pytest.fixture(scope="session")
def dense_17b():
    """The runbook's dense 17B model: Llama 2 13B's config with 53 layers, 34 GB in 16 bits, no grouped heads."""
    from oomedic.models.checkpoint import Checkpoint

    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "torch_dtype": "float16",
        "hidden_size": 5120,
        "intermediate_size": 13824,
        "num_attention_heads": 40,
        "num_key_value_heads": 40,
        "num_hidden_layers": 53,
        "max_position_embeddings": 4096,
        "vocab_size": 32000,
        "tie_word_embeddings": False,
    }
    return Checkpoint("dense-17b", config, "test")
