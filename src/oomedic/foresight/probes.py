"""Probes that give up before the weights are there.

How fast weights are read is what 106 logs of public issues print ("Model loading took X GiB and Y seconds",
tests/cases): a quarter below 0.16 GiB/s a GPU, half below 0.73, five of a hundred above 4.9.
"""

from collections.abc import Iterator
from typing import Final

from oomedic.claim import claim
from oomedic.engine.config import EngineConfig
from oomedic.evidence import Evidence
from oomedic.finding import Confidence, Finding
from oomedic.units import GIB, Bytes
from oomedic.workloads.workload import Probe, Probes

_USUAL: Final = 0.73 * GIB
_SLOW: Final = 0.16 * GIB
"""Bytes in a second, for one GPU."""
_START: Final = 30
"""Seconds until an engine begins to load: imports, the model's config, the start of its processes; assumed."""
_COMPILED: Final = 30
"""Seconds for torch.compile and the capture of CUDA graphs; assumed, the logs print 1 to 53 for the capture alone."""


def probe_before_ready(evidence: Evidence) -> Iterator[Finding]:
    """Yield that the probe which may restart the container allows less than loading takes."""
    workload, config = evidence.workload, evidence.config
    weights = evidence.assessment.budget.item("weights") if evidence.assessment else None
    found = _deciding(workload.probes) if workload and workload.probes else None
    if config is None or weights is None or found is None:
        return
    name, probe = found
    usual, slow = (_seconds(weights.value, rate, config) for rate in (_USUAL, _SLOW))
    if probe.budget_s >= slow:
        return
    sure: Confidence = "likely" if probe.budget_s < usual else "possible"
    said = claim(
        f"foreseen.{name}-probe-short",
        f"{name}Probe",
        budget=probe.budget_s,
        weights=weights.value,
        usual=usual,
        slow=slow,
    )
    yield Finding("POD101", "probe-killed-while-loading", sure, (said,), None, "weights_load")


def _deciding(probes: Probes) -> tuple[str, Probe] | None:
    """Return the probe that bounds a start: a liveness probe waits for a startup probe, where there is one."""
    if probes.startup is not None:
        return "startup", probes.startup
    return None if probes.liveness is None else ("liveness", probes.liveness)


def _seconds(weights: Bytes, rate: float, config: EngineConfig) -> int:
    compiled = 0 if config.flag("enforce_eager") else _COMPILED
    return round(_START + weights / rate + compiled)
