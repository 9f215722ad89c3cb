"""Split the model over more of the pod's GPUs.

What it does
------------
Each GPU holds its share of weights and KV cache. What every rank holds in full stays: norms, latent rows (MLA), KV heads once
there are fewer of them than ranks, rotary tables, the sampler's logits.

What it costs
-------------
More GPUs for one server, and communication between them in every layer.

When it does not help
---------------------
When the pod has no more GPUs, when heads do not divide, and when graphs or the sampler lack memory: the cache grows to the
same share on every GPU.

Says
----
cost: The server uses {after} GPUs instead of {before}.
"""

from collections.abc import Iterator

from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.remedy import Catalogued, Proposal, remedy, set_argument


@remedy("FIX301", "tensor-parallel", safety="trade-off")
def propose(evidence: Evidence, _finding: Finding, _catalogue: Catalogued) -> Iterator[Proposal]:
    """Name larger powers of two up to the GPUs that the pod has."""
    config, gpus = evidence.config, evidence.gpu_count
    if config is None or gpus is None:
        return
    before = config.tensor_parallel_size
    after = before * 2
    while after * config.pipeline_parallel_size * config.data_parallel_size <= gpus:
        changes = set_argument(evidence, "FIX301", tensor_parallel_size=after)
        yield Proposal(changes, claim("FIX301.cost", after=after, before=before))
        after *= 2
