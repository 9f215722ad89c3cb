"""End the old pod before the new one starts.

What it does
------------
strategy Recreate, or maxSurge 0 with maxUnavailable 1: the GPU, or the port, of the old pod is free when the new one comes.

What it costs
-------------
An interruption while the new pod loads.

When it does not help
---------------------
When something else holds the GPU.

Says
----
cost: No server answers while the new pod loads, unless there are several replicas.
step: Set the Deployment's strategy to Recreate (or maxSurge 0 and maxUnavailable 1), so that the old pod gives back its GPU first.
"""

from collections.abc import Iterator

from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.remedy import Catalogued, Change, Proposal, remedy


@remedy("FIX404", "rollout-strategy", safety="manual")
def propose(_evidence: Evidence, _finding: Finding, _catalogue: Catalogued) -> Iterator[Proposal]:
    """Ask for the other order."""
    change = Change("manual", None, None, "FIX404")
    yield Proposal((change,), claim("FIX404.cost"), step=claim("FIX404.step"))
