"""What holds for every family."""

import json
import lzma
import time
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from oomedic.errors import InputError, UsageError
from oomedic.memory.weights import Stage, stage_weights
from oomedic.models import architectures
from oomedic.models.architectures import dense, mixture, stack_of
from oomedic.models.modules import Shard
from oomedic.models.quantization import scheme_of
from oomedic.sources.builtin import load

ORACLE = Path(__file__).parent.parent / "oracle"


def _configs():
    with lzma.open(ORACLE / "configs.jsonl.xz", "rt", encoding="utf-8") as lines:
        return [(row["name"], row["config"]) for row in map(json.loads, lines)]


@cache
def _one_of_each_type():
    """The shortest config of each model type."""
    longest_first = sorted((config for _, config in _configs()), key=lambda config: -len(json.dumps(config)))
    return {config["model_type"]: config for config in longest_first}


def test_an_unknown_model_type_gives_none():
    assert stack_of({"model_type": "gpt9", "hidden_size": 64}, Shard()) is None


def test_every_model_type_has_a_module_that_builds_it():
    for module in set(architectures._MODULES.values()):
        assert callable(import_module(f"oomedic.models.architectures.{module}").build)


def test_the_tables_of_large_families_are_those_that_are_looked_up():
    found = {kind for kind, module in architectures._MODULES.items() if module in {"dense", "mixture"}}
    assert found == {*dense.DENSE, *mixture.MIXTURES} - {"dbrx"}  # a mixture whose config is flattened first


@pytest.mark.parametrize("kind", sorted(_one_of_each_type()))
def test_a_config_without_one_of_its_keys_gives_an_error_of_ours_or_an_answer(kind):
    config = _one_of_each_type()[kind]
    for key in config:
        _build({kept: value for kept, value in config.items() if kept != key})
    for part in ("text_config", "vision_config"):
        nested = config.get(part)
        for key in nested if isinstance(nested, dict) else ():
            _build(config | {part: {kept: value for kept, value in nested.items() if kept != key}})


@pytest.mark.parametrize("value", [None, "many", [], {}, 0, -1, [1]])
def test_a_value_of_the_wrong_kind_gives_an_error_of_ours_or_an_answer(value):
    for config in list(_one_of_each_type().values())[::3]:
        for key in config:
            _build(config | {key: value})


def _build(config):
    try:
        stack = stack_of(config, Shard(2))
        scheme = scheme_of(config, None, 2)
        if stack is not None and scheme is not None:
            stage_weights(stack, scheme, Stage(0, len(stack.layers), is_first=True, is_last=True))
    except (InputError, UsageError) as error:
        assert error.slug in {"config-lacks", "config-malformed", "not-divisible", "not-whole-blocks"}  # noqa: PT017


def test_the_models_of_the_catalogue_are_built_with_the_parameters_that_their_hub_declares():
    catalogue = load()
    near = known = 0
    for name in catalogue.models():
        model = catalogue.model(name)
        if model is None or not model.parameters or _is_quantized(model.config):
            continue
        stack = stack_of(model.config, Shard())
        assert stack is not None, name
        if stack.encoder is None:
            continue
        known += 1
        scheme = scheme_of({}, None, 2)
        whole = Stage(0, len(stack.layers), is_first=True, is_last=True)
        near += abs(stage_weights(stack, scheme, whole).parameters / 2 / _loaded(model) - 1) <= 0.005
    # the rest keep a copy of a tied embedding, or layers of multi-token prediction that are not loaded
    assert near >= 0.95 * known


def _is_quantized(config):
    return "quantization_config" in config or "hf_quant_config" in config


def _loaded(model):
    return model.parameters - (getattr(model, "mtp_parameters", None) or 0)


def test_a_stack_of_60_layers_and_its_weights_take_less_than_a_millisecond():
    config = dict(_configs())["Qwen--Qwen3-32B"]
    best = min(_seconds(config) for _ in range(20))
    assert best < 0.001


def _seconds(config):
    start = time.perf_counter()
    stack = stack_of(config, Shard(4))
    scheme = scheme_of(config, None, 2)
    stage_weights(stack, scheme, Stage(0, len(stack.layers), is_first=True, is_last=True))
    return time.perf_counter() - start
