"""Bring the pod to a node that can run it.

What it does
------------
Tolerations, selectors and affinities lead to nodes with free GPUs, of the right kind, with the right processor.

What it costs
-------------
Perhaps another kind of node.

When it does not help
---------------------
When no such node exists and none can be added.

Says
----
cost: Another node.
step: Let the pod reach a node that fits: tolerate the taint of the GPU nodes, select their label (nvidia.com/gpu.product, node.kubernetes.io/instance-type, kubernetes.io/arch), or add nodes; and keep it from the node that fails (cordon it).
"""

from collections.abc import Iterator

from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.remedy import Catalogued, Change, Proposal, remedy


@remedy("FIX410", "scheduling", safety="manual")
def propose(_evidence: Evidence, finding: Finding, _catalogue: Catalogued) -> Iterator[Proposal]:
    """Ask for another node, unless what is wrong is wrong on every node."""
    if finding.says("POD104.pull", "POD104.one-word"):
        return
    change = Change("manual", None, None, "FIX410")
    yield Proposal((change,), claim("FIX410.cost"), step=claim("FIX410.step"))
