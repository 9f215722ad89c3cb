"""Reset the card, restart or replace the node.

What it does
------------
A card that hangs is reset; one that is broken is taken out of service.

What it costs
-------------
Everything that runs on the node moves.

When it does not help
---------------------
When the hardware is sound and software is at fault.

Says
----
cost: Everything that runs on the node moves.
step: Cordon and drain the node; reset the GPU (nvidia-smi --gpu-reset) or restart the node; look for Xid lines (dmesg) and replace the node when they return.
"""

from collections.abc import Iterator

from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.remedy import Catalogued, Change, Proposal, remedy


@remedy("FIX411", "restart-or-replace-node", safety="manual")
def propose(_evidence: Evidence, _finding: Finding, _catalogue: Catalogued) -> Iterator[Proposal]:
    """Ask for the node to be looked at."""
    change = Change("manual", None, None, "FIX411")
    yield Proposal((change,), claim("FIX411.cost"), step=claim("FIX411.step"))
