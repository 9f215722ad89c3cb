"""Free the GPU.

What it does
------------
Whatever else holds the card's memory ends, or moves elsewhere; then the engine finds what it was told to use.

What it costs
-------------
What runs there stops. A person must decide.

When it does not help
---------------------
When the engine's own weights, activations or cache are too large for an empty card.

Says
----
cost: What else runs on this GPU stops.
step: Find what holds the GPU (nvidia-smi on the node; other pods on it; a worker of the previous life of this container), end it or move it, then restart the pod.
"""

from collections.abc import Iterator

from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.remedy import Catalogued, Change, Proposal, remedy


@remedy("FIX405", "free-the-gpu", safety="manual")
def propose(_evidence: Evidence, finding: Finding, _catalogue: Catalogued) -> Iterator[Proposal]:
    """Ask for the neighbour to go."""
    if finding.says("GPU103.ecc", "GPU103.xid", "GPU103.lost"):
        return  # the card itself is at fault
    change = Change("manual", None, None, "FIX405")
    yield Proposal((change,), claim("FIX405.cost"), step=claim("FIX405.step"))
