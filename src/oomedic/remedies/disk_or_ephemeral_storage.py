"""More disk for the model's files.

What it does
------------
The cache of downloads lies on a volume that holds the whole checkpoint, or the container may use more of the node's disk.

What it costs
-------------
A volume, or a larger disk of the node.

When it does not help
---------------------
When /dev/shm is what is full.

Says
----
cost: Disk space.
step: Put HF_HOME on a volume that holds the checkpoint (its size on the hub, and half as much again), or raise ephemeral-storage in requests and limits and the disk of the node; make caches on disk smaller (they count for each rank). Then delete the pod, so that partial files go with it.
"""

from collections.abc import Iterator

from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.remedy import Catalogued, Change, Proposal, remedy


@remedy("FIX406", "disk-or-ephemeral-storage", safety="manual")
def propose(_evidence: Evidence, _finding: Finding, _catalogue: Catalogued) -> Iterator[Proposal]:
    """Ask for room."""
    change = Change("manual", None, None, "FIX406")
    yield Proposal((change,), claim("FIX406.cost"), step=claim("FIX406.step"))
