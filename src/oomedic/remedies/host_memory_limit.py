"""More host memory for the container.

What it does
------------
The container's memory limit and request grow to what loading, offloaded weights, swap space and shared memory take together.

What it costs
-------------
A part of the node's memory that other pods do not get; perhaps a larger node.

When it does not help
---------------------
When a ulimit or the kernel's overcommit policy refuses memory that the limit would allow.

Says
----
cost: Host memory of the node.
step: Raise resources.limits.memory (and requests) of the container; the limit is {limit}. Count for each rank what is offloaded, the swap space and host caches, and once the checkpoint and /dev/shm. Remove ulimits on address space and locked memory.
step-unknown: Raise resources.limits.memory (and requests) of the container, on a node that has it. Count for each rank what is offloaded, the swap space and host caches, and once the checkpoint and /dev/shm. Remove ulimits on address space and locked memory.
step-least: Raise resources.limits.memory (and requests) of the container to at least {least:gib}: that is what this start keeps in host memory.
"""

from collections.abc import Iterator

from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.remedy import Catalogued, Change, Proposal, remedy
from oomedic.units import GIB

_SHM = 4 * GIB
_PROCESS = 6 * GIB
"""What the processes of an engine take beside weights: Python, PyTorch and CUDA libraries."""


@remedy("FIX402", "host-memory-limit", safety="manual")
def propose(evidence: Evidence, _finding: Finding, _catalogue: Catalogued) -> Iterator[Proposal]:
    """Ask for more memory, with the least amount where the log shows what is kept there."""
    change = Change("manual", None, None, "FIX402")
    yield Proposal((change,), claim("FIX402.cost"), step=_step(evidence))


def _step(evidence: Evidence) -> Claim:
    offloaded = evidence.figure("parameters_offloaded", "offloaded")
    if offloaded is not None and evidence.config is not None:
        ranks = evidence.config.tensor_parallel_size * evidence.config.pipeline_parallel_size
        return claim("FIX402.step-least", least=offloaded.high * ranks + _SHM + _PROCESS)
    limit = evidence.workload.host_memory_limit if evidence.workload else None
    return claim("FIX402.step-unknown") if limit is None else claim("FIX402.step", limit=limit.written)
