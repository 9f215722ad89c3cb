"""Over how many ranks a model can be split: what the engine's refusals and the model's heads allow."""

from collections.abc import Iterator

from oomedic.errors import OomedicError
from oomedic.evidence import Evidence
from oomedic.logs.fields import count
from oomedic.logs.signatures import Event
from oomedic.models.hf_config import attention_heads

_SHAPES = ("fp8_block_shape", "marlin_shape")


def asked_ranks(evidence: Evidence) -> int | None:
    """Return the tensor_parallel_size that was refused: printed, else configured."""
    printed = count(evidence.first("heads_not_divisible"), "tensor_parallel_size")
    return printed or (evidence.config.tensor_parallel_size if evidence.config else None)


def fitting_ranks(evidence: Evidence) -> tuple[int, ...]:
    """Return the smaller numbers of ranks that divide all that is known to need dividing, powers of two first.

    None where nothing is known that could be held against them.
    """
    before = asked_ranks(evidence)
    wholes = tuple(_wholes(evidence, before or 1))
    if before is None or not wholes:
        return ()
    most = min(before - 1, *(size for size, _ in wholes))  # whatever number was asked for
    fitting = [ranks for ranks in range(most, 0, -1) if all(_divides(whole, ranks) for whole in wholes)]
    return tuple(sorted(fitting, key=lambda ranks: (ranks & (ranks - 1) != 0, -ranks)))


def _wholes(evidence: Evidence, before: int) -> Iterator[tuple[int, int]]:
    """Yield sizes that are divided, each with what a slice must be a multiple of."""
    heads = count(evidence.first("heads_not_divisible"), "heads") or _heads(evidence)
    if heads is not None:
        yield heads, 1
    experts = count(evidence.first("experts_not_divisible"), "experts")
    if experts is not None:
        yield experts, 1
    for event in evidence.all(*_SHAPES):
        yield from _slice(event, before)


def _slice(event: Event, before: int) -> Iterator[tuple[int, int]]:
    size, divisor = count(event, "size"), count(event, "divisor")
    if size is not None and divisor:
        yield size * before, divisor


def _divides(whole: tuple[int, int], ranks: int) -> bool:
    size, multiple = whole
    return size % ranks == 0 and size // ranks % multiple == 0


def _heads(evidence: Evidence) -> int | None:
    if evidence.checkpoint is None:
        return None
    try:
        return attention_heads(evidence.checkpoint.text)
    except OomedicError:
        return None
