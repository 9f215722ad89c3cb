"""No node takes the pod.

The pod waits for GPUs that no node has free, or its selectors and taints exclude the nodes that have them.

What you see
------------
Events: "0/3 nodes are available: 3 Insufficient nvidia.com/gpu", "node(s) had untolerated taint", "didn't match Pod's node
affinity/selector", "no instance type satisfied resources", "Allocate failed due to requested number of devices unavailable";
of Karpenter "all available instance types exceed limits for nodepool", "did not tolerate taint"; of EC2 "VcpuLimitExceeded"
and "InsufficientInstanceCapacity".

Why it happens
--------------
All GPUs are taken, often by the pod's own predecessor during a rolling update (the new pod waits for the GPU of the old one, which
waits for the new pod). The device plugin does not run, or calls the resource by another name. GPU nodes are tainted and the pod
does not tolerate it. Karpenter has no instance type with that many GPUs, or its pool has reached its limit. EC2 has no such
machine left, which passes, or the account's quota of processors for GPU machines is used up (often it is 0), which does not.

Example
-------
    $ oomedic diagnose -
    Warning  FailedScheduling  1m  default-scheduler  0/3 nodes are available: 3 Insufficient nvidia.com/gpu.

    $ oomedic diagnose -
    Warning  InsufficientCapacityError  NodeClaim gpu-x7k2q event: creating instance, insufficient capacity, with fleet error(s), VcpuLimitExceeded: You have requested more vCPU capacity than your current vCPU limit of 0 allows for the instance bucket that the specified instance type belongs to.

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
nodes: The nodes that have GPUs are excluded by a taint, a selector or an affinity.
strategy: The rollout strategy may keep the old pod's GPU until the new pod is ready: {strategy}.
"""

from collections.abc import Iterator
from typing import Final

from oomedic.cause import cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import line_of, text
from oomedic.logs.signatures import Event
from oomedic.placement.unplaced import Unplaced, read_unplaced, telling
from oomedic.symptoms.failures import start_failure

_NAME: Final = "unschedulable-no-gpu"
_MOST_OTHERS: Final = 3
_FOUND: Final = "pod_scheduled"
_REFUSALS: Final = ("gpu_unschedulable", "pod_unschedulable", "node_not_launched")


@cause(
    "POD105",
    "unschedulable-no-gpu",
    reads=(*_REFUSALS, _FOUND),
    helps=("FIX410", "FIX404", "FIX413", "FIX303"),
    useless=("FIX101", "FIX102", "FIX103", "FIX104", "FIX105", "FIX107", "FIX108"),
    worsens=("FIX301",),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise the scheduler's events."""
    event = start_failure(evidence, *_REFUSALS)
    if event is None or any(found.line > event.line for found in evidence.all(_FOUND)):
        return None
    found = sorted(_reasons(evidence), key=lambda pair: telling(pair[0]))
    if not found:
        said: tuple[Claim, ...] = (claim("POD105.nodes", line_of(event)),)
        return Finding("POD105", _NAME, "certain", (*said, *_strategy(evidence)), event.line, "other")
    (reason, event), *others = found
    said = (_says(reason, event), reason.next_step(), *(_says(*pair) for pair in others[:_MOST_OTHERS]))
    return Finding("POD105", _NAME, "certain", (*said, *_strategy(evidence)), event.line, "other")


def _reasons(evidence: Evidence) -> Iterator[tuple[Unplaced, Event]]:
    """Yield every reason that an event gives, once."""
    seen: set[str] = set()
    for event in evidence.all(*_REFUSALS):
        for reason in read_unplaced(text(event, "message") or text(event, "nodes") or event.quote):
            if str(reason) not in seen:
                seen.add(str(reason))
                yield reason, event


def _says(reason: Unplaced, event: Event) -> Claim:
    return reason.says()._replace(where=line_of(event))


def _strategy(evidence: Evidence) -> tuple[Claim, ...]:
    strategy = evidence.workload.strategy if evidence.workload else None
    if strategy is None or strategy.type != "RollingUpdate" or strategy.max_surge in {"0", "0%"}:
        return ()
    return (claim("POD105.strategy", "manifest", strategy=strategy.type),)
