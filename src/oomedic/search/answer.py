"""One instance type that fits, with all that makes it up, and what should be known before it is ordered."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from oomedic.claim import Claim, claim
from oomedic.instance import Instance
from oomedic.memory.assessment import Assessment
from oomedic.search.bench import Bench
from oomedic.search.splits import Split
from oomedic.search.wish import Contender

_NAMED: Final = ("max_num_seqs",)
"""Settings that a search raises by itself, to be named with the others."""


class Answer(NamedTuple):
    """A model on an instance type.

    Attributes:
        changes: the engine arguments to set beside those that were given.
        concurrency: requests of max_model_len tokens that the cache holds at once; None for a model without a cache.
        price_per_1k: US dollars per hour for each 1,000 tokens of context that the cache holds.
        warnings: what should be known before it is ordered.
    """

    instance: Instance
    contender: Contender
    split: Split
    changes: Mapping[str, Any]
    assessment: Assessment
    concurrency: float | None = None
    price_per_1k: float | None = None
    warnings: tuple[Claim, ...] = ()


def answer_of(
    instance: Instance, bench: Bench, split: Split, changes: Mapping[str, Any], assessment: Assessment
) -> Answer:
    """Put an answer together."""
    kv, length = assessment.kv, assessment.config.max_model_len
    concurrency = kv.max_concurrency if kv is not None and kv.tokens else None
    tokens = concurrency * length if concurrency and length else None
    price = instance.price
    return Answer(
        instance,
        bench.contender,
        split,
        _arguments(bench, split, changes, assessment, instance),
        assessment,
        concurrency,
        price / tokens * 1000 if price is not None and tokens else None,
        tuple(_warnings(instance, bench, split)),
    )


def _arguments(
    bench: Bench, split: Split, changes: Mapping[str, Any], assessment: Assessment, instance: Instance
) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    if split.tensor > 1:
        arguments["tensor_parallel_size"] = split.tensor
    if split.pipeline > 1:
        arguments["pipeline_parallel_size"] = split.pipeline
    if bench.needs_half(instance.gpu):
        arguments["dtype"] = "half"
    settings = assessment.config.settings
    raised = {name: settings[name].value for name in _NAMED if settings[name].where == "search"}
    return {**arguments, **raised, **changes}


def _warnings(instance: Instance, bench: Bench, split: Split) -> Iterator[Claim]:
    gpu, stored = instance.gpu, bench.contender.format
    if instance.capacity is not None:
        yield claim(f"search.{instance.capacity}")
    if bench.contender.checkpoint.where == "recipe":
        yield claim("search.recipe-only")
    if gpu.memory.origin == "assumed":
        yield claim("search.assumed", gpu.memory.where, gpu=gpu.name, low=gpu.memory.low, high=gpu.memory.high)
    if bench.needs_half(gpu):
        yield claim("search.half", gpu=gpu.name)
    if stored is not None and stored.native and gpu.capability and gpu.capability < stored.native:
        yield claim("search.unpacked", gpu=gpu.name, format=stored.name, native=_dotted(stored.native))
    if split.ranks > 1 and not instance.nvlink:
        yield claim("search.no-nvlink", interconnect=instance.interconnect)
    used = split.ranks * bench.copies
    if used < instance.gpus:
        yield claim("search.idle", used=used, gpus=instance.gpus)
    if instance.arch == "arm64":
        yield claim("search.arm64")


def _dotted(capability: tuple[int, int]) -> str:
    return f"{capability[0]}.{capability[1]}"
