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
"""

from collections.abc import Iterator

from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.quantization import method_of, quantization_block
from oomedic.remedy import Catalogued, Change, Proposal, remedy


@remedy("FIX201", "quantized-checkpoint", safety="unsafe")
def propose(evidence: Evidence, _finding: Finding, catalogue: Catalogued) -> Iterator[Proposal]:
    """Name the catalogue's quantised checkpoints of the model, those with the most bits first."""
    checkpoint, config = evidence.checkpoint, evidence.config
    if checkpoint is None or config is None:
        return
    for variant in catalogue.variants_of(checkpoint):
        method = method_of(quantization_block(variant.config)) or "16 bit"
        changes = [Change("model", evidence.requested_model or checkpoint.id, variant.id, "FIX201")]
        if config.value("quantization") not in {None, method}:
            changes.append(Change("quantization", config.value("quantization"), None, "FIX201"))
        yield Proposal(tuple(changes), claim("FIX201.cost", method=method), checkpoint=variant)
