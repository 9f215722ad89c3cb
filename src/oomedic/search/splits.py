"""The ways to spread one copy of a model over the cards of one machine."""

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple


class Split(NamedTuple):
    """Over how many cards a model is split: ``tensor`` x ``pipeline``."""

    tensor: int
    pipeline: int

    @property
    def ranks(self) -> int:
        """How many cards that takes."""
        return self.tensor * self.pipeline


def splits(gpus: int, copies: int = 1) -> Iterator[Split]:
    """Yield the ways to use the cards of one machine: all of them before fewer, tensor before pipeline parallelism.

    Of several ``copies`` of the model, as data parallelism makes them, each gets an equal share of the cards.

    >>> [tuple(split) for split in splits(4)]
    [(4, 1), (2, 2), (1, 4), (2, 1), (1, 2), (1, 1)]
    >>> [tuple(split) for split in splits(4, copies=2)], list(splits(1, copies=2))
    ([(2, 1), (1, 2), (1, 1)], [])
    """
    gpus //= copies
    sizes = [size for size in range(gpus, 0, -1) if gpus % size == 0]
    pairs = [Split(*pair) for pair in product(sizes, sizes) if gpus % (pair[0] * pair[1]) == 0]
    return iter(sorted(pairs, key=lambda split: (-split.ranks, -split.tensor)))
