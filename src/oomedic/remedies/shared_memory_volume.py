"""Mount more shared memory.

What it does
------------
A memory-backed emptyDir at /dev/shm takes the place of the 64 MiB that a container gets by itself.

What it costs
-------------
What is written there counts against the container's memory limit.

When it does not help
---------------------
When one GPU serves and nothing is exchanged; and when the volume is full of what crashed workers left: then the pod must be deleted.

Says
----
cost: Up to {size} of the container's memory limit.
step: Add a volume emptyDir with medium Memory and sizeLimit {size} and mount it at /dev/shm; raise the container's memory limit by as much.
step-full: /dev/shm is mounted with {size} already: delete the pod, so that segments of crashed workers go with it; then raise the sizeLimit.
"""

from collections.abc import Iterator

from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.remedy import Catalogued, Change, Proposal, remedy

_PER_RANK = 1
_LEAST = 2
"""GiB. NCCL and the message queues of vLLM take well below one GiB per rank."""


@remedy("FIX401", "shared-memory-volume", safety="manual")
def propose(evidence: Evidence, finding: Finding, _catalogue: Catalogued) -> Iterator[Proposal]:
    """Ask for a volume of a GiB per rank, unless it is known that the ranks failed over something else."""
    if finding.says("CFG106.duplicate", "CFG106.peer", "CFG106.transfer"):
        return
    ranks = evidence.config.tensor_parallel_size * evidence.config.pipeline_parallel_size if evidence.config else 1
    size = f"{max(_LEAST, ranks * _PER_RANK)}Gi"
    shm = evidence.workload.shm if evidence.workload else None
    change = Change("manual", None, None, "FIX401")
    if shm is not None and shm.mounted and shm.size:
        yield Proposal((change,), claim("FIX401.cost", size=shm.size), step=claim("FIX401.step-full", size=shm.size))
    else:
        yield Proposal((change,), claim("FIX401.cost", size=size), step=claim("FIX401.step", size=size))
