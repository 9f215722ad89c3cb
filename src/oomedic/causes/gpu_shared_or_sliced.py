"""A shared or sliced GPU has less than a whole one.

The container was given a slice of a card (MIG), a time-sliced share of one, or a part with a memory cap, and the engine's
settings were made for the whole card.

What you see
------------
A failed start-up check or an out-of-memory error whose total is a fraction of the card's, or a card on which other
containers hold memory although each of them asked for "one GPU". HAMi says it itself: "[HAMI-core ERROR …]: Device 0 OOM
A / B", the bytes that the container would then hold and those that it may.

Why it happens
--------------
A MIG slice is a device of its own with its own total. Time slicing shares computing time, not memory: each container sees
the whole card and all of them together must fit.

Example
-------
    $ oomedic diagnose --manifest mig.yaml -
    # mig.yaml
    apiVersion: v1
    kind: Pod
    metadata: {name: small}
    spec:
      containers:
        - name: engine
          image: vllm/vllm-openai:v0.11.0
          args: [--model, Qwen/Qwen2.5-0.5B-Instruct]
          resources: {limits: {nvidia.com/gpu.shared: 1}}
    # log
    ValueError: Free memory on device cuda:0 (9.57/22.05 GiB) on startup is less than desired GPU memory utilization (0.9, 19.84 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.

Not this
--------
    $ oomedic diagnose -
    ValueError: Free memory on device cuda:0 (9.57/22.05 GiB) on startup is less than desired GPU memory utilization (0.9, 19.84 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.

What helps, in order, and why
-----------------------------
A gpu_memory_utilization that counts the neighbours, or a whole card for the engine.

What makes it worse
-------------------
A higher gpu_memory_utilization.

Since
-----
All releases.

Says
----
summary: The container was given {resource}, a part of a card; {held:gib} of the card's memory is held by others.
replicas: The node hands out each card to {replicas} containers at once; {held:gib} of the card's memory is held by others.
node: The node shares its cards ({strategy}); {held:gib} of the card's memory is held by others.
limit: HAMi gives this container {limit:gib} of the card; the allocation that it refused would have made it {asked:gib}.
check: {free:gib} of {total:gib} is free at the start, the engine is told to use {requested:gib}.
"""

from oomedic.cause import cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import count, line_of, size, text
from oomedic.symptoms.failures import failure
from oomedic.symptoms.free_memory import held_at_start, is_shared_on_purpose

_NAME = ("OOM103", "gpu-shared-or-sliced")


@cause(
    "OOM103",
    "gpu-shared-or-sliced",
    reads=("free_memory_below_request", "gpu_shared", "slice_limit_reached"),
    helps=("FIX103", "FIX412", "FIX405"),
    useless=("FIX101", "FIX104", "FIX105", "FIX107", "FIX108"),
    worsens=("FIX102",),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise a failed check of a container that asked for a part of a card, or the limit of its part."""
    return _at_the_check(evidence) or _at_the_limit(evidence)


def _at_the_limit(evidence: Evidence) -> Finding | None:
    event = failure(evidence, "slice_limit_reached")
    asked, limit = size(event, "asked"), size(event, "limit")
    if event is None or asked is None or limit is None:
        return None
    claims = (claim("OOM103.limit", line_of(event), asked=asked.value, limit=limit.value),)
    return Finding(*_NAME, "certain", claims, event.line, evidence.phase_of(event) or "other")


def _at_the_check(evidence: Evidence) -> Finding | None:
    event = evidence.first("free_memory_below_request")
    held = held_at_start(event)
    if event is None or held is None or not is_shared_on_purpose(evidence):
        return None
    free, total, requested = size(event, "free"), size(event, "total"), size(event, "requested")
    if free is None or total is None or requested is None:
        return None
    summary = _shared(evidence, line_of(event), max(0, held.value))
    check = claim("OOM103.check", line_of(event), free=free.value, total=total.value, requested=requested.value)
    return Finding(*_NAME, "certain", (summary, check), event.line, "free_memory_check")


def _shared(evidence: Evidence, where: str, held: int) -> Claim:
    node = evidence.first("gpu_shared")
    if node is None:
        resource = evidence.workload.gpu_resource if evidence.workload else None
        return claim("OOM103.summary", where, resource=str(resource), held=held)
    replicas = count(node, "replicas")
    if replicas:
        return claim("OOM103.replicas", line_of(node), replicas=replicas, held=held)
    return claim("OOM103.node", line_of(node), strategy=text(node, "strategy"), held=held)
