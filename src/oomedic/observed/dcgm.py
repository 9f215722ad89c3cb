"""Metrics of dcgm-exporter, as ``curl :9400/metrics`` prints them: memory in MiB, and which pod uses which card."""

import re
from typing import Final

from oomedic.figure import exactly
from oomedic.observed.facts import Observed, ObservedGpu
from oomedic.units import MIB

_SAMPLE: Final = re.compile(r"(DCGM_FI_\w{1,60})\{([^}]{0,4000})\}\s+(\S{1,40})")
_LABEL: Final = re.compile(r'(\w{1,60})="([^"]{0,400})"')
_MEMORY: Final[dict[str, str]] = {
    "DCGM_FI_DEV_FB_USED": "used",
    "DCGM_FI_DEV_FB_FREE": "free",
    "DCGM_FI_DEV_FB_TOTAL": "total",
    "DCGM_FI_DEV_FB_RESERVED": "reserved",
}
_XID: Final = "DCGM_FI_DEV_XID_ERRORS"


def read_dcgm(text: str, path: str) -> Observed:
    """Read the metrics: one card, or slice, per UUID and profile."""
    found: dict[tuple[str, str], dict[str, tuple[float, str]]] = {}
    labels: dict[tuple[str, str], dict[str, str]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        sample = _SAMPLE.match(line)
        value = _number(sample[3]) if sample else None
        if sample is None or value is None:
            continue
        said = dict(_LABEL.findall(sample[2]))
        card = (said.get("UUID") or said.get("gpu", ""), said.get("GPU_I_ID", ""))
        labels[card] = {**labels.get(card, {}), **{name: text for name, text in said.items() if text}}
        found.setdefault(card, {}).setdefault(sample[1], (value, f"{path}:{number}"))
    return Observed(gpus=tuple(_gpu(found[card], labels[card]) for card in found))


def _gpu(samples: dict[str, tuple[float, str]], labels: dict[str, str]) -> ObservedGpu:
    memory = {
        field: exactly(round(value * MIB), "printed", where)
        for name, field in _MEMORY.items()
        if name in samples
        for value, where in [samples[name]]
    }
    used, free = memory.get("used"), memory.get("free")
    total = memory.get("total")
    if total is None and used is not None and free is not None:
        total = used.plus(free)
        total = total.plus(memory["reserved"]) if "reserved" in memory else total
    first = next(iter(samples.values()))[1]
    profile = labels.get("GPU_I_PROFILE")
    name = labels.get("modelName")
    index = labels.get("gpu", "")
    return ObservedGpu(
        where=used.where if used else first,
        number=int(index) if index.isdecimal() else None,
        name=f"{name} MIG {profile}" if name and profile else name,
        total=total,
        used=used,
        free=free,
        pod=labels.get("pod") or labels.get("exported_pod"),
        xid=round(samples[_XID][0]) or None if _XID in samples else None,
        mig=profile,
    )


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < 2**40 else None
