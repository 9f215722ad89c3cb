"""From a model to the instance types that run it: the search with its facts, and the table of variants."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from oomedic.answer import versions_of
from oomedic.arguments.given import EngineArgs, Given
from oomedic.catalogue import Catalogue
from oomedic.claim import Claim, claim
from oomedic.engine.rules import releases, rules_at
from oomedic.errors import UnknownName, UsageError
from oomedic.evidence import Subject
from oomedic.gathering.gather import EngineOptions, model_facts
from oomedic.gathering.known_models import Resolved, checkpoint_of
from oomedic.gathering.versions import Release, release_of
from oomedic.gpu import Gpu
from oomedic.instance import REGION, Instance, Prices, instances_of
from oomedic.models.checkpoint import Checkpoint
from oomedic.question import Library, Question
from oomedic.result import Report, Result
from oomedic.search.answer import Answer
from oomedic.search.bench import Bench
from oomedic.search.formats import Format, format_of, formats_of
from oomedic.search.instances import search
from oomedic.search.splits import Split
from oomedic.search.variants import Known, copies_of, variants
from oomedic.search.wish import Contender, Wish
from oomedic.understanding import find_model

_MODEL: Final = ("model", "model_tag")


class Order(NamedTuple):
    """What a search is asked for beside the model.

    Attributes:
        context: tokens of one request; None: as many as the model allows.
        concurrency: how many such requests must fit at once.
        max_price: US dollars per hour.
        region: whose prices count; None: that of ``prices``, else the catalogue's.
        gpus: names of cards; none: all.
        allow_quantized: whether copies that change answers may be offered.
        prices: newer ones than the catalogue's.
    """

    context: int | None = None
    concurrency: int = 1
    max_price: float | None = None
    region: str | None = None
    gpus: tuple[str, ...] = ()
    allow_quantized: bool = False
    prices: Prices | None = None


def plan_instances(question: Question, library: Library, order: Order) -> Report:
    """Return one result for each instance type that runs the model, the cheapest first, and the table of variants.

    Raises:
        UnknownName: for a model or GPU that is not known.
        UsageError: ``nothing-asked`` without a model; where the engine refuses the arguments that are given.
    """
    found = _found_model(question, library)
    release = _release(question.options, library.catalogue)
    wish, copies = _wish(found, release, question, library.catalogue, order)
    _check(wish)
    answers = search(wish, _allowed(library.catalogue, order))
    results = tuple(_result(answer, release) for answer in answers)
    table = variants(copies, wish)
    return Report(results, versions_of(library), table, tuple(_notes(found, wish, order, answers)))


def wish_of(question: Question, library: Library, order: Order) -> Wish:
    """Return what the search is asked for.

    Raises:
        UnknownName, UsageError: as ``plan_instances``.
    """
    release = _release(question.options, library.catalogue)
    return _wish(_found_model(question, library), release, question, library.catalogue, order)[0]


def _found_model(question: Question, library: Library) -> Resolved:
    found = find_model(question, library)
    if found is None:
        raise UsageError("nothing-asked")
    if found.checkpoint is None:
        trouble = library.hub.trouble if library.hub else "model-offline"
        raise UnknownName(trouble, name=found.requested, nearest=found.nearest)
    return found


def _release(options: EngineOptions, catalogue: Catalogue) -> Release:
    """Return the release asked for, else the newest that is known."""
    rows = catalogue.engines()
    return release_of(options.vllm or str(releases(rows)[-1]), (), None, rows)


def _wish(
    found: Resolved, release: Release, question: Question, catalogue: Catalogue, order: Order
) -> tuple[Wish, tuple[tuple[Known, Contender], ...]]:
    if found.checkpoint is None:
        raise AssertionError(found)
    formats = formats_of(catalogue.formats())
    listed = sorted(map(checkpoint_of, catalogue.variants(found.checkpoint.id)), key=lambda copy: -(copy.estimate or 0))
    copies = tuple(
        (known, _contender(copy, release, formats)) for known, copy in copies_of(found.checkpoint, listed, formats)
    )
    given = {name: each for name, each in question.command.given.items() if name not in _MODEL}
    if order.context is not None:
        given["max_model_len"] = Given(order.context, "--context", "--context")
    own = copies[0][1]
    listed_ones = [copy for known, copy in copies if known == "listed"]
    # a recipe is no checkpoint: it stands in only where the catalogue lists no copy at all
    others = listed_ones or [copy for known, copy in copies if known == "recipe"]
    places = list(formats)
    ranked = sorted(others, key=lambda copy: places.index(copy.format.key) if copy.format else len(places))
    wish = Wish(
        (own, *ranked) if order.allow_quantized else (own,),
        EngineArgs(given, question.command.environment),
        rules_at(release.version, catalogue.engines()),
        order.concurrency,
        order.allow_quantized,
    )
    return wish, copies


def _check(wish: Wish) -> None:
    """Refuse arguments that the engine refuses on any card."""
    bench = Bench(wish.contenders[0], wish)
    refused = bench.refusal(bench.configured(Split(1, 1), {}, None))
    if refused is not None:
        raise refused


def _contender(checkpoint: Checkpoint, release: Release, formats: Mapping[str, Format]) -> Contender:
    return Contender(checkpoint, model_facts(checkpoint, None, release), formats.get(format_of(checkpoint.config)))


def _allowed(catalogue: Catalogue, order: Order) -> tuple[Instance, ...]:
    region = order.region or (order.prices.region if order.prices else REGION)
    found = instances_of(catalogue.instances(), catalogue.gpu, region, order.prices)
    cards = {gpu.name for name in order.gpus for gpu in _cards(catalogue, name)}
    return tuple(each for each in found if (not cards or each.gpu.name in cards) and _affordable(each, order.max_price))


def _affordable(instance: Instance, most: float | None) -> bool:
    return most is None or (instance.price is not None and instance.price <= most)


def _cards(catalogue: Catalogue, name: str) -> tuple[Gpu, ...]:
    """Return the cards of a name; a name of several means all of them here."""
    try:
        return (catalogue.gpu(name),)
    except UnknownName as error:
        if error.slug != "gpu-ambiguous":
            raise
        candidates = error.parameters["candidates"]
        return tuple(map(catalogue.gpu, candidates)) if isinstance(candidates, tuple) else ()


def _result(answer: Answer, release: Release) -> Result:
    instance = answer.instance
    subject = Subject(gpu=instance.gpu.name, vllm=release.text, instance=instance.type)
    return Result(subject, "starts", "computed", None, assessment=answer.assessment, answer=answer)


def _notes(found: Resolved, wish: Wish, order: Order, answers: tuple[Answer, ...]) -> list[Claim]:
    notes = []
    own = wish.contenders[0]
    if found.how == "nearest" and found.checkpoint is not None:
        notes.append(claim("evidence.model-nearest", requested=found.requested, used=found.checkpoint.id))
    longest = own.facts.max_model_len
    if order.context is not None and longest is not None and order.context > longest:
        notes.append(claim("search.beyond-model", context=order.context, longest=longest))
    regions = {answer.instance.region for answer in answers if answer.instance.price is not None}
    notes += _of_other_regions(order.region or (order.prices.region if order.prices else None), regions)
    if not answers:
        notes.append(claim("search.none"))
    return notes


def _of_other_regions(region: str | None, shown: set[str]) -> list[Claim]:
    """Say which prices are not of the region that is meant: that of ``--region``, else that of the file of prices."""
    others = ", ".join(sorted(shown - {region}))
    if region is None or not others:
        return []
    name = "search.some-other-region" if region in shown else "search.other-region"
    return [claim(name, region=region, known=others)]


__all__ = ["Order", "plan_instances", "wish_of"]
