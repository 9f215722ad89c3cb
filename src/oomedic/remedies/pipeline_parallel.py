"""Split the model by layers instead of across every layer.

What it does
------------
Each group of GPUs holds some of the layers. Heads, experts and quantised blocks stay whole, and GPUs talk to each other only
between the groups.

What it costs
-------------
A single request is not faster than on one group; groups wait for each other when few requests run.

When it does not help
---------------------
For model classes that do not support it, and when a single stage does not fit.

Says
----
cost: The model runs as {stages} stages one after the other, each on {ranks} {ranks:plural GPU|GPUs}: single requests get no faster.
"""

from collections.abc import Iterator

from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.remedy import Catalogued, Proposal, remedy, set_argument
from oomedic.symptoms.splitting import asked_ranks, fitting_ranks


@remedy("FIX302", "pipeline-parallel", safety="trade-off")
def propose(evidence: Evidence, finding: Finding, _catalogue: Catalogued) -> Iterator[Proposal]:
    """Name numbers of ranks that divide the model, with stages for the GPUs that they leave."""
    config, before = evidence.config, asked_ranks(evidence)
    if config is None or before is None:
        return
    proof = None if finding.line is None else f"log:{finding.line}"
    for ranks in fitting_ranks(evidence):
        if before % ranks == 0:
            stages = config.pipeline_parallel_size * before // ranks
            values = {"tensor_parallel_size": ranks, "pipeline_parallel_size": stages}
            cost = claim("FIX302.cost", stages=stages, ranks=ranks)
            yield Proposal(set_argument(evidence, "FIX302", **values), cost, proof=proof)
