"""Use a quantised checkpoint of the same model.

What it does
------------
The same model with weights of 8 or 4 bits takes about a half or a quarter of the memory.

What it costs
-------------
Answers change: little with 8 bits, more with 4. Someone should look at them before it goes to production.

When it does not help
---------------------
When the KV cache, graphs or the sampler are what lacks memory and the weights fit: it then only helps indirectly. Embeddings
and output layers usually stay at 16 bits.

Says
----
cost: Answers can change: this checkpoint has its weights in {method}; try it before production.
cost-unknown: Answers can change: weights in {bits} bits; try it before production.
step: No quantised checkpoint of {model} is known here. Look on the hub for one with {bits}-bit weights (names end in {names}), or make one.
"""

from collections.abc import Iterator
from typing import Final

from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.gpu import Gpu
from oomedic.models.checkpoint import Checkpoint
from oomedic.models.quantization import method_of, quantization_block
from oomedic.models.storage_words import quantization_of
from oomedic.remedy import Catalogued, Change, Proposal, remedy

_USUAL: Final = (("fp8", 8, "-FP8", (7, 5)), ("gptq", 4, "-GPTQ-Int4, -AWQ", (6, 0)))
"""What publishers offer, the smallest loss first, each with the lowest compute capability that runs it."""


@remedy("FIX201", "quantized-checkpoint", safety="unsafe")
def propose(evidence: Evidence, _finding: Finding, catalogue: Catalogued) -> Iterator[Proposal]:
    """Name the catalogue's quantised checkpoints of the model, those with the most bits first; else the usual kinds."""
    checkpoint, config = evidence.checkpoint, evidence.config
    if checkpoint is None or config is None or evidence.known.other_weights:
        return
    variants = catalogue.variants_of(checkpoint)
    for variant in variants:
        method = method_of(quantization_block(variant.config)) or "16 bit"
        changes = [Change("model", evidence.requested_model or checkpoint.id, variant.id, "FIX201")]
        if config.value("quantization") not in {None, method}:
            changes.append(Change("quantization", config.value("quantization"), None, "FIX201"))
        yield Proposal(tuple(changes), claim("FIX201.cost", method=method), checkpoint=variant)
    if not variants and not quantization_block(checkpoint.config):
        yield from _unknown(checkpoint, evidence.gpu)


def _unknown(checkpoint: Checkpoint, gpu: Gpu | None) -> Iterator[Proposal]:
    """Ask for a checkpoint that nobody listed, with the size that it would have."""
    manual = (Change("manual", None, None, "FIX201"),)
    for word, bits, names, lowest in _USUAL:
        if gpu is not None and gpu.capability is not None and gpu.capability < lowest:
            continue
        config = {**checkpoint.config, "quantization_config": quantization_of((word,))}
        stored = checkpoint._replace(config=config, estimate=None)
        step = claim("FIX201.step", model=checkpoint.id, bits=bits, names=names)
        yield Proposal(manual, claim("FIX201.cost-unknown", bits=bits), checkpoint=stored, step=step)
