"""The fabric manager of the host does not run (error 802).

Machines with NVSwitch (HGX and DGX with eight GPUs) need a service that sets up the links between the cards. Until it has done
so, CUDA refuses to start in every process.

What you see
------------
"Error 802: system not yet initialized", from every worker, before anything is loaded; nvidia-smi works.

Why it happens
--------------
nvidia-fabricmanager is not installed, does not run, or has another version than the driver. After a restart of the node it can
take a minute. In virtual machines the host must give all cards of a switch to one guest, or the service a shared mode.

Example
-------
    $ oomedic diagnose -
    ERROR 03-02 19:49:00 [multiproc_executor.py:783] WorkerProc failed to start.
    Error 802: system not yet initialized

Not this
--------
    $ oomedic diagnose -
    RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 803: system has unsupported display driver / cuda driver combination

What helps, in order, and why
-----------------------------
Start nvidia-fabricmanager on the node, in the driver's version (`systemctl status nvidia-fabricmanager`, `nvidia-smi -q`: Fabric
State Completed). A driver or image that brings it. Another node.

What makes it worse
-------------------
Nothing; memory settings play no part.

Since
-----
All releases.

Says
----
summary: CUDA is not initialised on this node (error 802): the fabric manager that links its GPUs does not run or is not ready.
"""

from oomedic.cause import cause
from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import count, line_of
from oomedic.symptoms.failures import failure

_CODE = 802


@cause(
    "GPU104",
    "fabric-manager-not-ready",
    reads=("cuda_initialisation",),
    helps=("FIX413", "FIX407", "FIX411"),
    useless=("FIX101", "FIX102", "FIX103", "FIX104", "FIX105", "FIX107", "FIX108", "FIX201"),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise CUDA's error 802."""
    event = next((event for event in evidence.all("cuda_initialisation") if count(event, "code") == _CODE), None)
    if event is None or failure(evidence, event.signature) is None:
        return None
    said = claim("GPU104.summary", line_of(event))
    return Finding("GPU104", "fabric-manager-not-ready", "certain", (said,), event.line, "other")
