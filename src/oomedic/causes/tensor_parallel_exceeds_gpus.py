"""More ranks than GPUs.

tensor_parallel_size x pipeline_parallel_size asks for more GPUs than the container sees.

What you see
------------
"World size (w) is larger than the number of available GPUs (g) in this node", or one of its older wordings; from 0.7 to 0.12
sometimes only "CUDA error: invalid device ordinal"; with Ray "Waiting for creating a placement group", for ever; on the CPU backend "Not enough allowed NUMA nodes to bind threads".

Why it happens
--------------
Each rank needs a GPU of its own on this node. The pod requests fewer, CUDA_VISIBLE_DEVICES hides some, or a device plugin
offers fewer than the node has. With Ray over several nodes a release may compare the whole world with one node's GPUs, which
is a defect of that release.

Example
-------
    $ oomedic diagnose -
    ValueError: World size (8) is larger than the number of available GPUs (4) in this node. If this is intentional and you are using:

Not this
--------
    $ oomedic diagnose -
    ValueError: Total number of attention heads (28) must be divisible by tensor parallel size (8).

What helps, in order, and why
-----------------------------
A tensor_parallel_size within the pod's GPUs, or as many GPUs in the pod as there are ranks: both must say the same number.
Where the GPUs are there and a release only counts them wrongly, another release.

What makes it worse
-------------------
Nothing; memory settings play no part.

Since
-----
All releases.

Says
----
summary: The engine was told to use {world} GPUs, but it sees {gpus}.
cores: The engine was told to use {world} ranks on the CPU; there are fewer places to bind them to.
summary-unknown: The engine was told to use more GPUs than it sees.
waiting: The engine waited {seconds} seconds for as many free GPUs in the Ray cluster as it has ranks: `ray status` shows what there is and what holds it.
manifest: The pod asks for {requested} {requested:plural GPU|GPUs}.
"""

from oomedic.cause import cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import count, line_of
from oomedic.logs.signatures import Event
from oomedic.symptoms.failures import outweighed, start_failure

_SIGNATURES = (
    "gpus_too_few",
    "gpus_too_few_in_ray",
    "gpus_per_node_not_divisible",
    "local_rank_out_of_bounds",
    "invalid_device_ordinal",
    "numa_nodes_too_few",
)
_WAITING = "placement_group_waiting"


@cause(
    "CFG101",
    "tensor-parallel-exceeds-gpus",
    reads=(*_SIGNATURES, _WAITING),
    helps=("FIX305", "FIX412", "FIX501"),
    useless=("FIX101", "FIX102", "FIX103", "FIX104", "FIX105", "FIX107", "FIX108"),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise the engine's refusal in its several wordings."""
    event = start_failure(evidence, *_SIGNATURES)
    if event is None:
        return _waiting(evidence)
    world, gpus = count(event, "world_size"), count(event, "gpus")
    summary = _summary(event, world, gpus)
    return Finding(
        "CFG101",
        "tensor-parallel-exceeds-gpus",
        "certain",
        (summary, *_manifest(evidence)),
        event.line,
        "config_validation",
    )


def _waiting(evidence: Evidence) -> Finding | None:
    """Recognise an engine that waits for the GPUs of a Ray cluster, and nothing after it."""
    event = start_failure(evidence, _WAITING)
    if event is None or outweighed(evidence, event):
        return None
    last = max(evidence.all(_WAITING), key=lambda each: each.line)
    said = claim("CFG101.waiting", line_of(last), seconds=count(last, "seconds"))
    claims = (said, *_manifest(evidence))
    return Finding("CFG101", "tensor-parallel-exceeds-gpus", "likely", claims, event.line, "config_validation")


def _summary(event: Event, world: int | None, gpus: int | None) -> Claim:
    if event.signature == "numa_nodes_too_few":
        return claim("CFG101.cores", line_of(event), world=count(event, "workers"))
    if world is None or gpus is None:
        return claim("CFG101.summary-unknown", line_of(event))
    return claim("CFG101.summary", line_of(event), world=world, gpus=gpus)


def _manifest(evidence: Evidence) -> tuple[Claim, ...]:
    requested = evidence.workload.gpus_per_pod if evidence.workload else None
    return () if requested is None else (claim("CFG101.manifest", "manifest", requested=requested),)
