"""What the GPUs themselves say: which card it is, and how much of it others hold."""

import re
from typing import Final

from oomedic.figure import Figure, exactly
from oomedic.observed.facts import Observed, ObservedGpu

_ENGINE: Final = re.compile(r"vllm|python|ray::|EngineCore|Worker", re.IGNORECASE)


def card_names(observed: Observed) -> tuple[str, ...]:
    """Return the names that nvidia-smi or DCGM print, each once."""
    return tuple(dict.fromkeys(gpu.name for gpu in observed.gpus if gpu.name))


def card_total(observed: Observed) -> Figure | None:
    """Return the smallest total that the driver reports: torch sees it, or up to 2 % less."""
    totals = [gpu.total for gpu in observed.gpus if gpu.total is not None]
    return min(totals, key=lambda total: total.value, default=None)


def as_torch_sees_it(total: Figure) -> Figure:
    """Return what torch reports of a card of which only the driver's total is known: 0.4 to 2 % less (gpus.toml)."""
    value = total.value * 99 // 100
    return Figure(value, total.value * 98 // 100, total.value, "assumed", total.where)


def held_by_others(observed: Observed, gpus: int | None, pod: str | None, *, engine_runs: bool) -> Figure | None:
    """Return what others hold of the worst card that the engine can have got, None where nothing tells.

    Args:
        observed: all that was seen.
        gpus: how many cards the pod has. Of more than these it is not known which they are: the least used are taken.
        pod: the pod's name, for DCGM says which cards it uses.
        engine_runs: whether the engine itself was among the processes at that moment.
    """
    own = [gpu for gpu in observed.gpus if pod is not None and gpu.pod == pod]
    seen = own or list(observed.gpus)
    held = sorted(
        (figure for gpu in seen if (figure := _held(gpu, engine_runs=engine_runs))), key=lambda one: one.value
    )
    if not held or len(held) < len([gpu for gpu in seen if gpu.used is not None]):
        return None
    return held[min(gpus or 1, len(held)) - 1]


def _held(gpu: ObservedGpu, *, engine_runs: bool) -> Figure | None:
    if not engine_runs and gpu.used is not None:
        return gpu.used
    strangers = [process for process in gpu.processes if not (engine_runs and _ENGINE.search(process.name))]
    listed = [process.memory for process in strangers if process.memory is not None]
    if not gpu.processes or len(listed) < len(strangers):
        return None
    return exactly(sum(memory.value for memory in listed), "printed", gpu.where)
