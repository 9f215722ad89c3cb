"""Where the arithmetic says that memory runs out, as the finding of the cause that a log would show."""

from collections.abc import Iterator, Mapping
from typing import Final

from oomedic.assessment import Assessment
from oomedic.claim import claim
from oomedic.figure import Figure
from oomedic.finding import Confidence, Finding
from oomedic.known import Check

_CAUSES: Final[Mapping[tuple[str, str], tuple[str, str, str]]] = {
    ("free_memory_check", "requested"): ("OOM102", "utilization-unreachable", "free-memory-check-requested"),
    ("weights_load", "weights"): ("OOM201", "weights-exceed-gpu", "weights-load-weights"),
    ("profile_run", "activation"): ("OOM301", "profile-run-activations", "profile-run-activation"),
    ("kv_check", "available"): ("OOM402", "no-memory-for-kv-cache", "kv-check-available"),
    ("kv_check", "one request"): ("OOM401", "kv-cache-too-small", "kv-check-one-request"),
    ("kv_alloc", "kv_cache"): ("OOM404", "kv-allocation-oom", "kv-alloc-kv-cache"),
    ("graph_capture", "state blocks"): ("OOM403", "state-cache-too-small", "graph-capture-state-blocks"),
    ("graph_capture", "cuda_graphs"): ("OOM501", "cuda-graph-capture", "graph-capture-cuda-graphs"),
    ("sampler_warmup", "sampler"): ("OOM502", "sampler-warmup", "sampler-warmup-sampler"),
}
"""Code, name and message of the cause, by the step without room and what it is for."""
_PEAKS: Final[Mapping[str, tuple[str, str]]] = {
    "encoder": ("OOM302", "multimodal-profile"),
    "sampler": ("OOM303", "profile-sampler"),
}
"""The cause of a profile run that does not fit, by the largest part of its peak."""


def lack_of_memory(assessment: Assessment | None) -> Iterator[Finding]:
    """Yield the step in which the engine runs out of memory; nothing where it starts or nothing is known."""
    failed = assessment.failed if assessment else None
    if assessment is None or failed is None:
        return
    code, name, message = _CAUSES.get((failed.phase, failed.what), ("", "", ""))
    if failed.phase == "profile_run":
        code, name = _PEAKS.get(assessment.peak or "", (code, name))
    if code:
        said = claim(f"foreseen.{message}", "", **_figures(assessment, failed))
        yield Finding(code, name, _confidence(assessment), (said,), None, failed.phase)


def _confidence(assessment: Assessment) -> Confidence:
    return "possible" if assessment.certainty == "edge" else assessment.certainty


def _figures(assessment: Assessment, failed: Check) -> dict[str, int | float | None]:
    budget, kv = assessment.budget, assessment.kv
    return {
        "free": _bytes(budget.free_at_start),
        "total": _bytes(budget.total),
        "requested": _bytes(budget.requested),
        "weights": _bytes(budget.item("weights")),
        "activation": _bytes(budget.item("activation")),
        "graphs": _bytes(budget.item("cuda_graphs")),
        "available": _bytes(budget.available),
        "short": -failed.margin.value,
        "needed": kv.needed if kv else None,
        "max_model_len": assessment.config.max_model_len,
        "gpu_memory_utilization": assessment.config.utilization,
    }


def _bytes(figure: Figure | None) -> int | None:
    return None if figure is None else figure.value
