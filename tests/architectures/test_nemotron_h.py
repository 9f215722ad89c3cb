import pytest


@pytest.mark.parametrize(
    ("name", "version", "ranks", "parameters"),
    [
        ("nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "0.14.1", 1, 63_171_716_352),
        ("nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "0.18.1", 1, 63_155_889_408),
        ("nvidia--Nemotron-H-56B-Base-8K", "0.14.1", 8, 14_082_797_056),
    ],
)
def test_a_nemotron_hybrid_weighs_what_its_class_allocates(weigh, name, version, ranks, parameters):
    assert weigh(name, version, ranks) == parameters


def test_each_layer_is_one_thing_only(stack_for):
    layers = stack_for("nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16").layers
    caches = "".join("-" if not layer.cache else type(layer.cache[0]).__name__[0] for layer in layers)
    assert caches == "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME".translate(str.maketrans("ME*", "S-A"))


def test_the_state_dtype_of_the_checkpoint_is_heeded_since_0_14(stack_for):
    name = "nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"
    before, since = (stack_for(name, version).layers[0].cache[0].temporal_dtype for version in ("0.11.2", "0.14.1"))
    assert (before, since) == (None, "float32")
