"""Calibrated constants, fitted anew without the source that is then predicted: are they worth anything elsewhere?

Three kinds of constants are calibrated on reported start-ups: what lies outside torch (``non_torch_*`` of each file in
data/engines), what the sampler holds per row and vocabulary entry (``sampler_bytes``), and the memory of CUDA graphs
(one factor on oomedic.memory.graphs). For each source, each constant becomes the median of what the other sources of
the same constant imply, one value per source; fewer than two others leave it as it is.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from statistics import median
from typing import Any, NamedTuple

import cases
from oomedic.engine.config import EngineConfig
from oomedic.errors import OomedicError
from oomedic.evidence import Evidence
from oomedic.pipeline import Library
from oomedic.units import GIB

_LEAST_OTHERS = 2
_USUAL_SAMPLER_BYTES = 38


class Constants(NamedTuple):
    """What one engine's arithmetic takes from calibration, by the file and key that each value comes from."""

    non_torch: str
    sampler: str
    graphs: str = "graphs"


class Record(NamedTuple):
    """A start-up whose pool was printed, as our arithmetic sees it."""

    source: str
    evidence: Evidence
    constants: Constants
    printed: Mapping[str, Any]


def left_out(cases_read: Iterable[cases.Case], library: Library, asked: Any) -> dict[str, dict[str, float]]:
    """Return n, median and p90 of the KV cache's error, with the constants as they are and with those fitted anew.

    ``asked`` makes the evidence of a case (accuracy.asked).
    """
    records = [record for case in cases_read if (record := _record(case, library, asked)) is not None]
    implied = _implied(records)
    usable = [record for record in records if record.printed["usable"]]
    shipped, anew = defaultdict(list), defaultdict(list)
    for record in usable:
        shipped[record.source].append(_error(record, record.evidence.config, 1.0))
        anew[record.source].append(_error(record, *_refitted(record, implied)))
    return {"as shipped": _spread(shipped), "without the source": _spread(anew)}


def _record(case: cases.Case, library: Library, asked: Any) -> Record | None:
    observed = case["observed"]
    pool = observed.get("available_kv_gib")
    try:
        evidence = asked(case, library, pool=None)
    except OomedicError:
        return None
    config, assessment = evidence.config, evidence.assessment
    if not pool or config is None or assessment is None or assessment.budget.available is None:
        return None
    audited = "kv_gib" in case.get("usable_for", ())
    printed = {"pool": pool, "usable": audited, "peak": observed.get("peak_activation_gib")}
    printed["graphs"] = observed.get("cudagraph_gib")
    return Record(case["source"], evidence, _constants(config), printed)


def _constants(config: EngineConfig) -> Constants:
    outside = "non_torch_tp1" if config.ranks == 1 else "non_torch_tp"
    table = "runner_v2" if config.runner == "V2" else "counted"
    return Constants(config.rules.where("counted", outside), config.rules.where(table, "sampler_bytes"))


def _implied(records: list[Record]) -> dict[str, dict[str, list[float]]]:
    """Return, for each constant and source, the values that its records would have had it at."""
    implied: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        assessment = record.evidence.assessment
        if assessment is None or assessment.budget.available is None:
            continue
        budget, printed = assessment.budget, record.printed
        outside, peak, graphs = (budget.item(name) for name in ("non_torch", "activation", "cuda_graphs"))
        if outside is not None and printed["usable"]:
            gap = budget.available.value / GIB - printed["pool"]
            implied[record.constants.non_torch][record.source].append(max(0.0, outside.value / GIB + gap))
        if peak is not None and assessment.peak == "sampler" and printed["peak"]:
            share = printed["peak"] * GIB / peak.value
            implied[record.constants.sampler][record.source].append(_sampler_bytes(record.evidence.config) * share)
        if graphs is not None and graphs.value and (printed["graphs"] or 0) > 0:
            implied["graphs"][record.source].append(printed["graphs"] * GIB / graphs.value)
    return implied


def _sampler_bytes(config: EngineConfig | None) -> float:
    if config is None:
        return _USUAL_SAMPLER_BYTES
    table = config.rules.runner_v2 if config.runner == "V2" else config.rules.counted
    return float(table.get("sampler_bytes", _USUAL_SAMPLER_BYTES))


def _refitted(record: Record, implied: Mapping[str, Mapping[str, list[float]]]) -> tuple[EngineConfig | None, float]:
    """Return the configuration under constants that this record's source had no part in, and the factor on graphs."""
    config = record.evidence.config
    if config is None:
        return None, 1.0
    rules = config.rules
    outside = _without(record.source, implied.get(record.constants.non_torch, {}))
    if outside is not None:
        key = record.constants.non_torch.rpartition(".")[2]
        low, _, high = rules.counted[key]
        rules = rules._replace(counted={**rules.counted, key: sorted((min(low, outside), outside, max(high, outside)))})
    entry = _without(record.source, implied.get(record.constants.sampler, {}))
    if entry is not None and config.runner == "V2":
        rules = rules._replace(runner_v2={**rules.runner_v2, "sampler_bytes": entry})
    elif entry is not None:
        rules = rules._replace(counted={**rules.counted, "sampler_bytes": entry})
    return config._replace(rules=rules), _without(record.source, implied.get("graphs", {})) or 1.0


def _without(source: str, by_source: Mapping[str, list[float]]) -> float | None:
    others = [median(values) for name, values in by_source.items() if name != source]
    return median(others) if len(others) >= _LEAST_OTHERS else None


def _error(record: Record, config: EngineConfig | None, graphs_factor: float) -> float:
    if config is None:
        return 1.0
    budget = record.evidence.assess(config).budget
    graphs = budget.item("cuda_graphs")
    more = (graphs_factor - 1) * graphs.value if graphs is not None and config.graphs_budgeted else 0.0
    pool = budget.available.value - more if budget.available is not None else 0.0
    return abs(pool / GIB / record.printed["pool"] - 1)


def _spread(errors: Mapping[str, list[float]]) -> dict[str, float]:
    values = sorted(median(each) for each in errors.values())
    return {"n": len(values), "median": median(values), "p90": values[min(len(values) - 1, int(0.9 * len(values)))]}
