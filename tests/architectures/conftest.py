import json
import lzma
from functools import cache
from pathlib import Path

import pytest

from oomedic.engine.rules import rules_at
from oomedic.memory.weights import Stage, stage_weights
from oomedic.models.architectures import stack_of
from oomedic.models.modules import Shard
from oomedic.models.quantization import scheme_of
from oomedic.sources.builtin import load
from oomedic.version import parse_version

ORACLE = Path(__file__).parent.parent / "oracle"


@cache
def _lines(name):
    with lzma.open(ORACLE / f"{name}.jsonl.xz", "rt", encoding="utf-8") as lines:
        return tuple(json.loads(line) for line in lines)


@cache
def _configs():
    return {row["name"]: row["config"] | _separate(row) for row in _lines("configs")}


def _separate(row):
    return {"hf_quant_config": row["hf_quant_config"]} if "hf_quant_config" in row else {}


@pytest.fixture(scope="session")
def config_named():
    """A config.json by its name in tests/oracle."""
    return _configs().__getitem__


@pytest.fixture(scope="session")
def stack_for():
    """The stack of a model in a release at a tensor-parallel size."""

    def build(name, version="0.32.0", tensor_parallel_size=1, **shard):
        release = _rules(version).weights
        return stack_of(_configs()[name], Shard(tensor_parallel_size, release=release, **shard))

    return build


@pytest.fixture(scope="session")
def weigh(stack_for):
    """The bytes of a rank's parameters, as the arithmetic has them."""

    def parameters(name, version, tensor_parallel_size=1):
        stack = stack_for(name, version, tensor_parallel_size)
        scheme = scheme_of(_configs()[name], None, 2, release=_rules(version).weights)
        return stage_weights(stack, scheme, Stage(0, len(stack.layers), is_first=True, is_last=True)).parameters

    return parameters


@pytest.fixture(scope="session")
def recorded():
    """The bytes of a rank's parameters, as that release's own class allocated them."""

    def parameters(name, version, tensor_parallel_size=1):
        return next(
            record["param_bytes"]
            for kind in ("eras", "cpu", "more")
            for record in _lines(kind)
            if (record["config"], record["vllm"], record["tensor_parallel_size"])
            == (name, version, tensor_parallel_size)
        )

    return parameters


@cache
def _rules(version):
    return rules_at(parse_version(version), load().engines())
