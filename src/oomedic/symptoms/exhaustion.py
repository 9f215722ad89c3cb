"""A request for device memory that failed: torch's message, the driver's, or vLLM's own wording, with its phase."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from oomedic.evidence import Evidence
from oomedic.logs.memory_error import OOM_SIGNATURES, OutOfMemory, out_of_memory
from oomedic.logs.phases import frame_phase, frames_of
from oomedic.logs.signatures import Event
from oomedic.units import GIB, Bytes

EXHAUSTION: Final = (
    *OOM_SIGNATURES,
    "allocator_assertion",
    "cuda_driver_out_of_memory",
    "cumem_out_of_memory",
    "warm_up_out_of_memory",
    "weights_out_of_memory",
    "out_of_memory_headline",
    "xla_out_of_memory",
)
"""Signatures of a failed allocation on the device."""

_AFTER_LOADING: Final = frozenset({"warm_up_out_of_memory", "cumem_out_of_memory"})
_STEPS: Final[Mapping[str, str]] = {
    "load_model": "weights_load",
    "determine_num_available_blocks": "profile_run",
    "determine_available_memory": "profile_run",
    "start_worker_execution_loop": "runtime",
}
_POOL_IS_SIZED: Final = frozenset({"kv_check", "kv_alloc", "graph_capture"})
_BEFORE_LOADING: Final = frozenset({"config_validation", "nccl_init", "free_memory_check"})
_BEFORE_LOADING_IS_DONE: Final = _BEFORE_LOADING | {"weights_load"}
_NO_TENSOR_OF_WEIGHTS: Final[Bytes] = 8 * GIB
"""Larger than any tensor that loading allocates at once (the stacked experts of DeepSeek-V3 on one rank: 7 GiB)."""


class Exhaustion(NamedTuple):
    """The first failed allocation of a life. ``proven`` when the log itself shows the phase, not our arithmetic."""

    event: Event
    phase: str | None
    proven: bool
    message: OutOfMemory | None


def exhaustion(evidence: Evidence) -> Exhaustion | None:
    """Return the first failed allocation of this life and where it happened, None when none was printed."""
    event = next((event for event in evidence.all(*EXHAUSTION) if not _pins(evidence, event)), None)
    if event is None:
        return None
    message = _message(evidence, event)
    phase = frame_phase(event, evidence.events) or evidence.phase_of(event)
    phase = phase or _named_phase(evidence)
    if phase in _POOL_IS_SIZED and _executes(evidence, event):
        phase = "runtime"  # neither the cache nor graphs are made by executing the model
    if _is_too_early(phase, event):
        phase = None  # the marks in between are cut off
    if phase is not None:
        return Exhaustion(event, phase, proven=True, message=message)
    computed = None if event.signature in _AFTER_LOADING else _computed_phase(evidence, message)
    return Exhaustion(event, computed, proven=False, message=message)


def _is_too_early(phase: str | None, event: Event) -> bool:
    """Tell whether an error cannot belong to the phase of the last mark: torch allocates nothing before it loads."""
    if event.signature == "warm_up_out_of_memory":
        return phase in _BEFORE_LOADING_IS_DONE
    return event.signature in OOM_SIGNATURES and phase in _BEFORE_LOADING


def pinning(evidence: Evidence) -> Event | None:
    """Return the driver's error when host memory could not be pinned: it is worded like a lack of GPU memory."""
    return next((event for event in evidence.all(*EXHAUSTION) if _pins(evidence, event)), None)


def shortage(message: OutOfMemory | None) -> Bytes | None:
    """Return how much was missing for the allocation that failed, None when the message does not say."""
    if message is None or message.tried is None or message.free is None:
        return None
    return max(0, message.tried.value - message.free.value)


def touches_encoder(evidence: Evidence, event: Event) -> bool:
    """Tell whether the traceback of an error runs through a vision or audio encoder."""
    return any(frame.signature == "encoder_frame" for frame in frames_of(event, evidence.events))


def touches_logprobs(evidence: Evidence, event: Event) -> bool:
    """Tell whether the log probabilities of a prompt were being computed."""
    return any(frame.signature == "prompt_logprobs_frame" for frame in frames_of(event, evidence.events))


def touches_repacking(evidence: Evidence, event: Event) -> bool:
    """Tell whether weights that are loaded were repacked or quantised, which needs a copy of each."""
    return any(frame.signature == "weights_processing_frame" for frame in frames_of(event, evidence.events))


def touches_sampler(evidence: Evidence, event: Event) -> bool:
    """Tell whether vLLM's sampler asked for the memory: its own message, or a frame of it."""
    if event.signature == "warm_up_out_of_memory" or evidence.first("warm_up_out_of_memory"):
        return True
    return any(frame.signature == "sampler_frame" for frame in frames_of(event, evidence.events))


def touches_graphs(evidence: Evidence, event: Event) -> bool:
    """Tell whether CUDA graphs were captured on trial, to learn their size, when memory ran out."""
    if any(frame.signature == "graph_frame" for frame in frames_of(event, evidence.events)):
        return True
    profiling = evidence.first("graph_profiling")
    return profiling is not None and profiling.line < event.line


def _executes(evidence: Evidence, event: Event) -> bool:
    """Tell whether the execution of a batch failed, no later step of the start that runs one."""
    frames = frames_of(event, evidence.events)
    starts = any(frame.phase in {"kv_alloc", "graph_capture", "sampler_warmup"} for frame in frames)
    return not starts and any(frame.signature == "execute_frame" for frame in frames)


def _named_phase(evidence: Evidence) -> str | None:
    """Return the phase that the engine itself names: in words, or by the step in which a worker failed."""
    if evidence.first("weights_out_of_memory"):
        return "weights_load"
    steps = (event.fields.get("method") for event in evidence.all("worker_method_failed"))
    return next((_STEPS[step] for step in steps if isinstance(step, str) and step in _STEPS), None)


def _pins(evidence: Evidence, event: Event) -> bool:
    if event.signature != "cuda_driver_out_of_memory":
        return False
    return any(frame.signature == "pinned_memory_frame" for frame in frames_of(event, evidence.events))


def _message(evidence: Evidence, event: Event) -> OutOfMemory | None:
    """Return torch's figures: of the event itself, or of the message that vLLM wrapped."""
    if event.signature in OOM_SIGNATURES:
        return out_of_memory(event)
    return evidence.out_of_memory()


def _computed_phase(evidence: Evidence, message: OutOfMemory | None) -> str | None:
    """Tell the phase of a message without marks and frames from its figures and our arithmetic."""
    weights = evidence.assessment.budget.item("weights") if evidence.assessment else None
    held = (message.allocated or message.own) if message else None
    if weights is not None and held is not None and held.value < weights.low:
        return "weights_load"
    if message and message.tried is not None and message.tried.value > _NO_TENSOR_OF_WEIGHTS:
        return "profile_run"
    # a card that is full is a step without room on the card; what the share allows is not looked at yet
    checks = evidence.assessment.checks if evidence.assessment else ()
    on_card = (check for check in checks if check.phase in {"weights_load", "profile_run"})
    return next((check.phase for check in on_card if check.margin.value < 0), None)
