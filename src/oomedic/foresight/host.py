"""Host memory and shared memory: what a start keeps there against what the container is allowed.

Safetensors are mapped from their files, and their pages are given back under pressure: they do not count. What is
pinned does: weights that stay on the host (vllm/model_executor/models/utils.py, set_cpu_offload_max_bytes), V0's swap
space (vllm/worker/cache_engine.py) and a connector's host cache.
"""

from collections.abc import Iterator
from typing import Final

from oomedic.claim import Claim, claim
from oomedic.engine.config import EngineConfig
from oomedic.evidence import Evidence
from oomedic.finding import Confidence, Finding
from oomedic.instance import resident
from oomedic.units import GIB, MIB, Bytes
from oomedic.workloads.workload import Workload

_SURE_SHARE: Final = 0.5
"""The processes of small engines were seen with half of what is assumed; below that none was seen."""
_RUNTIMES_OWN: Final = 64 * MIB
"""What a container finds at /dev/shm when its pod mounts nothing there (containerd, Docker)."""
_PER_RANK: Final = 512 * MIB
"""Segments of NCCL and vLLM's message queues (vllm/distributed/device_communicators/shm_broadcast.py: 10 chunks of
16 MiB a queue), with what a crash leaves behind."""


def host_memory_short(evidence: Evidence) -> Iterator[Finding]:
    """Yield that the container's memory limit is below what a start keeps in host memory."""
    workload, config = evidence.workload, evidence.config
    limit = workload.host_memory_limit if workload else None
    if workload is None or config is None or limit is None or not limit.bytes:
        return
    workers = _workers(workload, config)
    swaps = config.generation == "V0" and evidence.version_known  # later releases take no swap space
    pinned = tuple(_pinned(workload, config, workers, swaps=swaps))
    kept = sum(size for size, _ in pinned)
    processes = resident(workers)
    sure = _sure(limit.bytes, kept, processes)
    if sure is not None:
        told = claim(
            "foreseen.host-memory-short",
            "resources.limits.memory",
            needed=kept + processes,
            limit=limit.bytes,
            written=limit.written,
            processes=processes,
            workers=workers,
        )
        yield Finding("HOST101", "host-oom-killed", sure, (told, *(said for _, said in pinned)), None, "host_oom")


def shared_memory_short(evidence: Evidence) -> Iterator[Finding]:
    """Yield that ranks of one pod exchange data through a /dev/shm that is too small for it."""
    workload, config = evidence.workload, evidence.config
    if workload is None or config is None or workload.shm is None or _mounted_by_ray(workload):
        return
    workers, shm = _workers(workload, config), workload.shm
    if workers < 2 or (shm.mounted and shm.bytes is None):
        return
    size = shm.bytes if shm.mounted and shm.bytes is not None else _RUNTIMES_OWN
    if size >= workers * _PER_RANK:
        return
    facts = {"workers": workers, "size": size, "wanted": workers * _PER_RANK}
    said = claim("foreseen.shm-small" if shm.mounted else "foreseen.shm-missing", "/dev/shm", **facts)  # noqa: S108 - a mount
    sure: Confidence = "likely" if size <= _RUNTIMES_OWN and not _completed(workload) else "possible"
    yield Finding("HOST102", "shared-memory-too-small", sure, (said,), None, "nccl_init")


def _workers(workload: Workload, config: EngineConfig) -> int:
    """Return how many ranks one pod runs."""
    ranks = config.ranks * config.data_parallel_size
    return max(1, min(ranks, workload.gpus_per_pod or ranks))


def _pinned(workload: Workload, config: EngineConfig, workers: int, *, swaps: bool) -> Iterator[tuple[Bytes, Claim]]:
    """Yield what cannot be given back under pressure, with the sentence that says so."""
    offloaded = int(config.number("cpu_offload_gb") * GIB)
    if offloaded:
        yield offloaded * workers, claim("foreseen.host-offload", "cpu_offload_gb", size=offloaded, workers=workers)
    swap = int(config.number("swap_space") * GIB) if swaps else 0
    if swap:
        yield swap * workers, claim("foreseen.host-swap", "swap_space", size=swap, workers=workers)
    for name, size in workload.offload.items():
        yield size, claim("foreseen.host-cache", name, name=name, size=size)


def _sure(limit: Bytes, kept: Bytes, processes: Bytes) -> Confidence | None:
    if kept + processes * _SURE_SHARE > limit:
        return "likely"
    return "possible" if kept + processes > limit else None


def _completed(workload: Workload) -> bool:
    """Tell whether a controller adds to the pod what is not in the manifest."""
    return any(note.message == "note.defaults-of-controller" for note in workload.notes)


def _mounted_by_ray(workload: Workload) -> bool:
    """Tell whether KubeRay mounts /dev/shm itself: it does where the container's memory is given."""
    memory = workload.host_memory_limit or workload.host_memory_request
    return workload.kind.startswith("Ray") and memory is not None
