"""More ranks than GPUs: the engine, or Ray for it, waits for GPUs that never come."""

from collections.abc import Iterator

from oomedic.claim import claim
from oomedic.evidence import Evidence
from oomedic.finding import Confidence, Finding


def too_few_gpus(evidence: Evidence) -> Iterator[Finding]:
    """Yield that one replica is to be spread over more GPUs than its pods have."""
    workload, config = evidence.workload, evidence.config
    gpus = workload.gpus_per_replica if workload else None
    if workload is None or config is None or not gpus:
        return
    world = config.local_ranks
    if world <= gpus:
        return
    sizes = {
        "tensor": config.tensor_parallel_size,
        "pipeline": config.pipeline_parallel_size,
        "data": world // config.ranks,
    }
    message = "foreseen.gpus-too-few" if workload.group_size == 1 else "foreseen.gpus-too-few-in-group"
    said = claim(message, "", world=world, gpus=gpus, pods=workload.group_size, **sizes)
    sure: Confidence = "certain" if workload.group_size == 1 and config.data_parallel_size == 1 else "likely"
    yield Finding("CFG101", "tensor-parallel-exceeds-gpus", sure, (said,), None, "config_validation")
