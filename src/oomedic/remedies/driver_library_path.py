"""The host's driver library first.

What it does
------------
LD_LIBRARY_PATH leads to the driver libraries that the NVIDIA runtime mounts, before the compatibility libraries of the image hide
them.

What it costs
-------------
Nothing, with a driver that is as new as the image's CUDA.

When it does not help
---------------------
When the driver is older than the image's CUDA: then the compatibility libraries are what makes it work.

Says
----
cost: None, with a driver that is new enough.
"""

from collections.abc import Iterator

from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import count
from oomedic.remedy import Catalogued, Change, Proposal, remedy

_HIDDEN = 803
_PATH = "/usr/local/nvidia/lib64:/usr/local/nvidia/lib"


@remedy("FIX414", "driver-library-path", safety="safe")
def propose(evidence: Evidence, _finding: Finding, _catalogue: Catalogued) -> Iterator[Proposal]:
    """Name the path where CUDA says that its libraries do not fit the driver."""
    if any(count(event, "code") == _HIDDEN for event in evidence.all("cuda_initialisation")):
        change = Change("env.LD_LIBRARY_PATH", None, _PATH, "FIX414")
        yield Proposal((change,), claim("FIX414.cost"))
