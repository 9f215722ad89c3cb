"""No node takes the pod.

The pod waits for GPUs that no node has free, or its selectors and taints exclude the nodes that have them.

What you see
------------
Events: "0/3 nodes are available: 3 Insufficient nvidia.com/gpu", "node(s) had untolerated taint", "didn't match Pod's node
affinity/selector", "no instance type satisfied resources", "Allocate failed due to requested number of devices unavailable".

Why it happens
--------------
All GPUs are taken, often by the pod's own predecessor during a rolling update (the new pod waits for the GPU of the old one, which
waits for the new pod). The device plugin does not run, or calls the resource by another name. GPU nodes are tainted and the pod
does not tolerate it. Karpenter has no instance type with that many GPUs.

Example
-------
    $ oomedic diagnose -
    Warning  FailedScheduling  1m  default-scheduler  0/3 nodes are available: 3 Insufficient nvidia.com/gpu.

Not this
--------
    $ oomedic diagnose -
    Normal   Killing    2m    kubelet  Container vllm failed startup probe, will be restarted

What helps, in order, and why
-----------------------------
The missing toleration or selector; a node with free GPUs; a rollout that ends the old pod first (Recreate, or maxSurge 0); the
device plugin of the GPU operator.

What makes it worse
-------------------
More GPUs per pod. Memory settings play no part.

Since
-----
All releases.

Says
----
resource: No node has enough free {resource} for the pod.
nodes: The nodes that have GPUs are excluded by a taint, a selector or an affinity.
strategy: The rollout strategy may keep the old pod's GPU until the new pod is ready: {strategy}.
"""

from oomedic.cause import cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.failures import start_failure
from oomedic.fields import line_of, text
from oomedic.finding import Finding


@cause(
    "POD105",
    "unschedulable-no-gpu",
    reads=("gpu_unschedulable", "pod_unschedulable"),
    helps=("FIX410", "FIX404", "FIX413", "FIX303"),
    useless=("FIX101", "FIX102", "FIX103", "FIX104", "FIX105", "FIX107", "FIX108"),
    worsens=("FIX301",),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise the scheduler's events."""
    event = start_failure(evidence, "gpu_unschedulable", "pod_unschedulable")
    if event is None:
        return None
    resource = text(event, "resource")
    said = (
        claim("POD105.resource", line_of(event), resource=resource)
        if resource
        else claim("POD105.nodes", line_of(event))
    )
    return Finding("POD105", "unschedulable-no-gpu", "certain", (said, *_strategy(evidence)), event.line, "other")


def _strategy(evidence: Evidence) -> tuple[Claim, ...]:
    strategy = evidence.workload.strategy if evidence.workload else None
    if strategy is None or strategy.type != "RollingUpdate" or strategy.max_surge in {"0", "0%"}:
        return ()
    return (claim("POD105.strategy", "manifest", strategy=strategy.type),)
