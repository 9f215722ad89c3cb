"""What a search is asked for."""

from typing import NamedTuple

from oomedic.arguments.given import EngineArgs
from oomedic.engine.config import ModelFacts
from oomedic.engine.rules import EngineRules
from oomedic.models.checkpoint import Checkpoint
from oomedic.search.formats import Format


class Contender(NamedTuple):
    """One checkpoint that may be served: the model as it was named, or a quantised copy. ``format`` None: unknown."""

    checkpoint: Checkpoint
    facts: ModelFacts
    format: Format | None = None


class Wish(NamedTuple):
    """A model to be served.

    Attributes:
        contenders: the checkpoints that may serve it, those that change answers least first.
        given: engine arguments that stand, ``max_model_len`` among them where a length was asked for.
        rules: of the release.
        concurrency: how many requests of max_model_len tokens must fit at once.
        quantized: whether answers may change: an fp8 cache is tried too.
    """

    contenders: tuple[Contender, ...]
    given: EngineArgs
    rules: EngineRules
    concurrency: int = 1
    quantized: bool = False
