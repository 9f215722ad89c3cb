"""Give the engine a GPU of its own.

What it does
------------
The container gets whole cards that nobody else gets, as many as it has ranks.

What it costs
-------------
The card is no longer shared.

When it does not help
---------------------
When the engine has the card to itself already.

Says
----
cost: The GPU is no longer shared.
step: Request whole GPUs (nvidia.com/gpu) in the container's limits, as many as there are ranks; do not run it privileged or with NVIDIA_VISIBLE_DEVICES=all.
"""

from collections.abc import Iterator

from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.remedy import Catalogued, Change, Proposal, remedy


@remedy("FIX412", "device-visibility-and-sharing", safety="manual")
def propose(_evidence: Evidence, _finding: Finding, _catalogue: Catalogued) -> Iterator[Proposal]:
    """Ask for a card of its own."""
    change = Change("manual", None, None, "FIX412")
    yield Proposal((change,), claim("FIX412.cost"), step=claim("FIX412.step"))
