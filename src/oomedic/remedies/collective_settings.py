"""Help ranks to find each other.

What it does
------------
The right network interface and transport for NCCL and Gloo, or no custom all-reduce; NCCL_DEBUG=INFO to learn which call failed.

What it costs
-------------
Without custom all-reduce or peer-to-peer access, communication between GPUs is slower.

When it does not help
---------------------
When one rank died of something else and the others only lost it.

Says
----
cost: Perhaps slower communication between GPUs.
cost-debug: A longer log.
step: Set NCCL_DEBUG=INFO and start once more: the lines before the error name what failed. Then NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME to an interface that exists (ip addr), NCCL_P2P_DISABLE=1 or --disable-custom-all-reduce where GPUs cannot reach each other; delete the pod (not only its container) where /dev/shm is full of old segments.
step-peer: Set NCCL_P2P_DISABLE=1 and --disable-custom-all-reduce, so that the ranks exchange data through the host; or use cards, a driver and virtualisation settings (IOMMU, ACS) that allow peer access.
step-transfer: Give both sides the same image, so that NIXL and UCX are the same; UCX_LOG_LEVEL=info names the transport that fails, UCX_NET_DEVICES and UCX_TLS choose another (the pod needs the RDMA devices and memory limits that RDMA asks for).
step-interface: Set NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME to an interface that exists in the container (ip addr), or remove both.
"""

from collections.abc import Iterator

from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.remedy import Catalogued, Change, Proposal, remedy, set_argument


@remedy("FIX306", "collective-settings", safety="manual")
def propose(evidence: Evidence, finding: Finding, _catalogue: Catalogued) -> Iterator[Proposal]:
    """Name the setting that the log points at, else the way to learn it."""
    manual = (Change("manual", None, None, "FIX306"),)
    if finding.says("CFG106.duplicate"):
        return
    if finding.says("CFG106.peer"):
        peer = Change("env.NCCL_P2P_DISABLE", None, "1", "FIX306")
        yield Proposal((peer,), claim("FIX306.cost"), step=claim("FIX306.step-peer"))
    elif finding.says("CFG106.transfer"):
        yield Proposal(manual, claim("FIX306.cost"), step=claim("FIX306.step-transfer"))
    elif evidence.first("network_interface_missing"):
        yield Proposal(manual, claim("FIX306.cost"), step=claim("FIX306.step-interface"))
    elif evidence.first("custom_all_reduce_failed"):
        changes = set_argument(evidence, "FIX306", disable_custom_all_reduce=True)
        yield Proposal(changes, claim("FIX306.cost"), safety="trade-off")
    else:
        debug = Change("env.NCCL_DEBUG", None, "INFO", "FIX306")
        yield Proposal((debug,), claim("FIX306.cost-debug"), step=claim("FIX306.step"))
