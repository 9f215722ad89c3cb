"""Processes that are gone without an error of their own: killed from outside, or by a signal of the hardware."""

import re
from collections.abc import Iterator
from typing import Final

from oomedic.evidence import Evidence
from oomedic.logs.fields import count, text
from oomedic.logs.signatures import Event
from oomedic.symptoms.failures import WEAK, spoken

_WITNESSES: Final = ("worker_died", "engine_dead", "engine_core_initialization_failed")
"""Who notices first: the executor, the server that waits for an answer, the server that waits for the start."""
_STARTED: Final = ("engine_start", "version_banner", "api_server_version", "non_default_args", "model_load_start")
_BY_ITSELF: Final = ("WorkerProc hit an exception", "WorkerProc failed to start")
_WORKER: Final = re.compile(r"(?:Vllm|Ray)?Worker")
_CODE: Final = re.compile(r": (-?\d+)")


def silent_death(evidence: Evidence) -> Event | None:
    """Return the line that tells of a process which is gone without any error, None where an error explains its end.

    Only a log that shows the start can prove that there was no error. A code above zero is an exception, printed
    elsewhere; after an orderly stop the end of processes says nothing.
    """
    if evidence.first(*_STARTED) is None or _raised_itself(evidence) or any(map(_explains, _errors(evidence))):
        return None
    witness = next((event for name in _WITNESSES if (event := _witness(evidence, name)) is not None), None)
    if witness is None or any(event.line < witness.line for event in evidence.all("server_stopped")):
        return None
    return None if any(code > 0 for code in exit_codes(witness)) else witness


def _raised_itself(evidence: Evidence) -> bool:
    """Tell whether the engine reports an exception of its own, or of a worker, that no signature reads."""
    if evidence.first("worker_failed_with"):
        return True
    lost = evidence.first("worker_failed", "worker_died", "wait_cancelled")
    return evidence.first("engine_core_failed") is not None and lost is None


def killed_by(event: Event) -> int | None:
    """Return the signal that ended the process of which an event tells, None where it does not say."""
    return next((-code for code in exit_codes(event) if code < 0), None)


def exit_codes(event: Event) -> tuple[int, ...]:
    """Return the exit codes that an event names; a negative one is a signal."""
    code = count(event, "exit_code")
    if code is not None:
        return (code,)
    return tuple(map(int, _CODE.findall(text(event, "exit_codes") or "")))


def _witness(evidence: Evidence, signature: str) -> Event | None:
    events = tuple(evidence.all(signature))
    named = (event for event in events if exit_codes(event) or "Dead" in event.quote)
    found = next(named, None) or next(iter(events), None)
    return None if found is None else spoken(evidence, found)


def _errors(evidence: Evidence) -> Iterator[Event]:
    """Yield errors; warnings are none, nor is what a worker prints while it is shut down."""
    reported = any(event.quote.startswith(_BY_ITSELF) for event in evidence.all("worker_failed"))
    for event in evidence.events:
        if event.signature in WEAK:
            continue
        if event.kind == "error" or (event.kind == "generic" and (reported or not _WORKER.match(event.rank or ""))):
            yield event


def _explains(event: Event) -> bool:
    return event.signature != "traceback_start"
