"""Which instance types run a model, and at what price: every card and number of cards is looked at once."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from oomedic.instance import Instance, cheapest_of_each, large_enough
from oomedic.memory.assessment import Assessment
from oomedic.search.answer import Answer, answer_of
from oomedic.search.bench import Bench, Candidate
from oomedic.search.knobs import ladder
from oomedic.search.splits import Split, splits
from oomedic.search.wish import Wish

_NO_KNOB: Final = frozenset({"weights_load"})
"""Phases in which no setting of the ladder changes anything."""
_SPLITS: Final = 2


def search(wish: Wish, instances: Iterable[Instance]) -> tuple[Answer, ...]:
    """Return the instance types on which the wish comes true, the cheapest first; one type per card and number.

    Of each only the smallest change is named: a model's own checkpoint before quantised ones, default settings before
    others, tensor parallelism over all cards before pipeline stages.
    """
    benches = [Bench(contender, wish) for contender in wish.contenders]
    found = (best_answer(wish, instance, benches) for instance in cheapest_of_each(filter(large_enough, instances)))
    return tuple(sorted((answer for answer in found if answer is not None), key=rank))


def best_answer(wish: Wish, instance: Instance, benches: Iterable[Bench]) -> Answer | None:
    """Return the first candidate that fits on one instance type, None when none does."""
    for bench in benches:
        if not bench.runs_on(instance.gpu):
            continue
        for split, changes, assessment in _tried(bench, wish, instance):
            if acceptable(assessment, wish):
                return answer_of(instance, bench, split, changes, assessment)
    return None


def acceptable(assessment: Assessment, wish: Wish) -> bool:
    """Tell whether it starts with room for as many requests of full length as are wanted."""
    if assessment.outcome != "starts" or assessment.kv is None:
        return False
    holds_nothing = assessment.kv.tokens == 0 and assessment.kv.fits
    return holds_nothing or assessment.kv.max_concurrency >= wish.concurrency


def rank(answer: Answer) -> tuple[float, int, str]:
    """Rank by price; where that is equal or unknown, by the number of cards and the name."""
    price = answer.instance.price
    return (float("inf") if price is None else price, answer.instance.gpus, answer.instance.type)


def _tried(bench: Bench, wish: Wish, instance: Instance) -> Iterator[tuple[Split, Mapping[str, Any], Assessment]]:
    """Yield candidates in their order; those that use fewer cards only where the model cannot be split over more.

    Of the ways to use all cards the first two that divide the model are tried: more pipeline stages make no more room.
    What a bound rules out is left out: weights larger than all cards, a cache that could not hold the requests even if
    nothing but weights were there.
    """
    divided: list[Split] = []
    for split in splits(instance.gpus, bench.copies):
        if not _as_given(split, wish):
            continue
        if len(divided) == _SPLITS or (divided and split.ranks < divided[0].ranks):
            return
        if not bench.may_hold_model(split.ranks, instance.gpu):
            return
        default = bench.candidate(split, {}, instance.gpu)
        if default is None:
            continue
        if bench.refusal(default.config) is not None:
            return
        divided.append(split)
        for changes in ({}, *ladder(default.config, wish, instance.gpu)):
            candidate = _promising(bench, default, split, changes)
            if candidate is None:
                continue
            assessment = candidate.assessed()
            yield split, changes, assessment
            if assessment.phase in _NO_KNOB:
                break


def _as_given(split: Split, wish: Wish) -> bool:
    """Tell whether a split is the one asked for, as far as one was asked for."""
    asked = {"tensor_parallel_size": split.tensor, "pipeline_parallel_size": split.pipeline}
    return all(wish.given.given[name].value == size for name, size in asked.items() if name in wish.given.given)


def _promising(bench: Bench, default: Candidate, split: Split, changes: Mapping[str, Any]) -> Candidate | None:
    if not bench.may_help(default, changes):
        return None
    candidate = bench.candidate(split, changes, default.gpu) if changes else default
    return candidate if candidate is not None and bench.may_hold(candidate) else None
