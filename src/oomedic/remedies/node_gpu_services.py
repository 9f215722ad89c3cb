"""Repair what serves GPUs on the node.

What it does
------------
The fabric manager, the device plugin, the container toolkit and its runtime class run, in versions that fit the driver.

What it costs
-------------
Work on the node, or a new version of the GPU operator.

When it does not help
---------------------
When the card itself is broken.

Says
----
cost: Work on the node.
step: See that the device plugin (GPU operator) and the NVIDIA runtime class work on this node: kubectl describe node shows nvidia.com/gpu, a test pod runs nvidia-smi.
step-fabric: Start nvidia-fabricmanager on the node in the driver's exact version (systemctl status nvidia-fabricmanager); nvidia-smi -q must show Fabric State Completed. Then delete the pod.
"""

from collections.abc import Iterator

from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.remedy import Catalogued, Change, Proposal, remedy


@remedy("FIX413", "node-gpu-services", safety="manual")
def propose(_evidence: Evidence, finding: Finding, _catalogue: Catalogued) -> Iterator[Proposal]:
    """Ask for the service that is missing."""
    change = Change("manual", None, None, "FIX413")
    step = "FIX413.step-fabric" if finding.code == "GPU104" else "FIX413.step"
    yield Proposal((change,), claim("FIX413.cost"), step=claim(step))
