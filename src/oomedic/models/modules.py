"""What a model is made of, as one GPU of a tensor-parallel group holds it.

The vocabulary of vLLM's own layer classes (vllm/model_executor/layers/linear.py, vocab_parallel_embedding.py,
fused_moe/layer.py): sizes are those of one rank, fused parts stand together as the engine allocates them.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from oomedic.errors import UsageError

Config = Mapping[str, object]
"""A Hugging Face style config, or its text part."""


NEWEST: Final[Mapping[str, Any]] = MappingProxyType({})
"""What the newest release does: nothing differs."""


class Shard(NamedTuple):
    """How one rank's share is cut: ``expert_parallel`` keeps whole experts on a rank.

    ``whole_encoder`` when encoders are not split (mm_encoder_tp_mode "data"), ``no_encoder`` when they are left out
    because the model shall take text only. ``release`` holds what the model
    classes of an older release do differently from the newest: the table [weights] of data/engines.
    """

    tensor_parallel_size: int = 1
    data_parallel_size: int = 1
    expert_parallel: bool = False
    whole_encoder: bool = False
    no_encoder: bool = False
    release: Mapping[str, Any] = NEWEST

    def dtype(self, key: str, newest: str | None = None) -> str | None:
        """Return the dtype that the release gives some tensor; None, in its table "model", is the model's own."""
        found = self.release.get(key, newest)
        return None if found == "model" else found

    @property
    def of_encoder(self) -> "Shard":
        """Return how encoders are cut: as the rest, or whole on each rank."""
        return WHOLE if self.whole_encoder else self

    def divide(self, size: int, what: str) -> int:
        """Return this rank's share of ``size``.

        Raises:
            UsageError: ``not-divisible``, as vLLM's own ``divide`` asserts.
        """
        if size % self.tensor_parallel_size:
            raise UsageError("not-divisible", what=what, size=size, tensor_parallel_size=self.tensor_parallel_size)
        return size // self.tensor_parallel_size

    def key_value_heads(self, heads: int) -> int:
        """Return the KV heads of one rank: at least one, replicated when there are fewer than ranks."""
        if heads >= self.tensor_parallel_size:
            return self.divide(heads, "num_key_value_heads")
        if self.tensor_parallel_size % heads:
            raise UsageError(
                "not-divisible", what="num_key_value_heads", size=heads, tensor_parallel_size=self.tensor_parallel_size
            )
        return 1

    def vocabulary(self, size: int) -> int:
        """Return the rows of a vocabulary on one rank; it is padded to a multiple of 64."""
        return self.divide(round_up(size, 64), "vocab_size")

    def experts(self, count: int) -> int:
        """Return how many experts one rank keeps."""
        ranks = self.tensor_parallel_size * self.data_parallel_size
        return count // ranks if self.expert_parallel else count

    def expert_width(self, intermediate: int) -> int:
        """Return the width of each expert on one rank."""
        ranks = self.tensor_parallel_size * self.data_parallel_size
        if self.expert_parallel:
            return intermediate
        if intermediate % ranks:
            raise UsageError(
                "not-divisible", what="moe_intermediate_size", size=intermediate, tensor_parallel_size=ranks
            )
        return intermediate // ranks


WHOLE: Final = Shard()
"""One rank that holds everything."""


class Linear(NamedTuple):
    """A matrix of ``inputs`` x sum(``outputs``) elements, with fused parts, that a method may quantise.

    ``parts`` are the names of the fused parts in the checkpoint, for the lists of layers that a method leaves alone;
    ``quantized`` False where the engine never quantises it.
    """

    name: str
    inputs: int
    outputs: tuple[int, ...]
    bias: bool = False
    parts: tuple[str, ...] = ()
    quantized: bool = True

    @property
    def checkpoint_names(self) -> tuple[str, ...]:
        """Return the names that a checkpoint's lists may call it by."""
        return self.parts or (self.name,)


class Experts(NamedTuple):
    """The routed experts of one layer, stacked: w13 (``experts``, 2 x width or width, hidden) and w2."""

    name: str
    experts: int
    hidden: int
    width: int
    gated: bool = True
    bias: bool = False


class Table(NamedTuple):
    """A tensor that no method quantises: embedding, norm, router, convolution. ``dtype`` None: the model's own."""

    name: str
    elements: int
    dtype: str | None = None


class Buffer(NamedTuple):
    """A tensor that is computed and not loaded, such as a rotary table."""

    name: str
    elements: int
    dtype: str | None = None


Module = Linear | Experts | Table | Buffer


def round_up(size: int, multiple: int) -> int:
    """Return the smallest multiple that is not below ``size``."""
    return -(-size // multiple) * multiple


def ceil_div(numerator: int, denominator: int) -> int:
    """Divide and round up."""
    return -(-numerator // denominator)
