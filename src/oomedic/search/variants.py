"""The same model with its weights stored in other ways: how large, on which cards, and what that does to answers.

The runbook's table of sizes, but for this model: checkpoints that the catalogue lists, and where it lists none of a
format, the size that the usual recipe gives.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

from oomedic.arguments.given import EngineArgs
from oomedic.engine.config import configure
from oomedic.errors import OomedicError
from oomedic.figure import Figure
from oomedic.memory.demand import demands
from oomedic.models.checkpoint import Checkpoint
from oomedic.models.storage_words import quantization_of
from oomedic.search.formats import PLAIN, Capability, Format, format_of
from oomedic.search.wish import Contender, Wish

Known = Literal["asked", "listed", "recipe"]


class Variant(NamedTuple):
    """One way to have the model.

    Attributes:
        model: the checkpoint's id; for a recipe the model's own id and the format.
        known: the one asked for, one that the catalogue lists, or reckoned from the usual recipe of the format.
        weights: as loaded, all ranks together; None where the format is not known.
        capability: the lowest compute capability in this release; ``native`` from which on it computes in the format.
        quality: the id of a message on what it does to answers, with its source.
    """

    model: str
    known: Known
    format: str
    weights: Figure | None
    capability: Capability | None
    native: Capability | None
    quality: str | None
    source: str | None


def copies_of(
    checkpoint: Checkpoint, listed: Iterable[Checkpoint], formats: Mapping[str, Format]
) -> Iterator[tuple[Known, Checkpoint]]:
    """Yield the model itself, its listed copies, and what recipes make of it in formats that none of them has."""
    yield "asked", checkpoint
    known = {format_of(checkpoint.config)}
    for copy in listed:
        known.add(format_of(copy.config))
        yield "listed", copy
    if PLAIN not in known or format_of(checkpoint.config) != PLAIN:
        return
    for key, stored in formats.items():
        recipe = quantization_of(stored.words) if stored.words and key not in known else None
        if recipe is not None:
            yield "recipe", _stored(checkpoint, recipe, stored)


def variants(copies: Iterable[tuple[Known, Contender]], wish: Wish) -> tuple[Variant, ...]:
    """Return the table, the largest weights first."""
    table = [_variant(known, contender, wish) for known, contender in copies]
    return tuple(sorted(table, key=lambda variant: -(variant.weights.value if variant.weights else 0)))


def _stored(checkpoint: Checkpoint, recipe: Mapping[str, object], stored: Format) -> Checkpoint:
    # the mix of a GGUF file is read from its name
    name = f"{checkpoint.id}-{'-'.join(stored.words).upper()}"
    config = {**checkpoint.config, "quantization_config": recipe}
    return checkpoint._replace(id=name, config=config, where="recipe", estimate=None)


def _variant(known: Known, contender: Contender, wish: Wish) -> Variant:
    stored, version = contender.format, wish.rules.version
    return Variant(
        contender.checkpoint.id,
        known,
        stored.name if stored else format_of(contender.checkpoint.config),
        _weights(contender, wish),
        stored.needs(version) if stored else None,
        stored.native if stored else None,
        f"quality.{stored.quality}" if stored and stored.quality else None,
        stored.source if stored else None,
    )


def _weights(contender: Contender, wish: Wish) -> Figure | None:
    """Return the weights as one card would hold them: what several hold in full is counted once."""
    given = {name: each for name, each in wish.given.given.items() if name in {"dtype", "max_model_len"}}
    config = configure(EngineArgs(given), contender.facts, None, wish.rules)
    try:
        return demands(contender.checkpoint, config, None)[0].weights
    except OomedicError:
        return None
