"""From evidence to findings: ask each cause that may apply; the first in time that explains the death comes first."""

from collections.abc import Iterable, Sequence

from oomedic.cause import Cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Diagnosis, Finding
from oomedic.logs.signatures import Event
from oomedic.symptoms.contradictions import contradictions
from oomedic.symptoms.exhaustion import exhaustion
from oomedic.symptoms.missing import missing_evidence

_SURE = ("certain", "likely", "possible")
_ERRORS = frozenset({"error", "generic"})


def diagnose(evidence: Evidence, causes: Iterable[Cause]) -> Diagnosis:
    """Return what the evidence establishes; where nothing is recognised, the first error that was printed."""
    asked = tuple(causes)
    found = [(each, finding) for each in asked if (finding := each.match(evidence)) is not None]
    narrowed = {code for each, _ in found for code in each.narrows}
    findings = sorted((finding for _, finding in found if finding.code not in narrowed), key=_order)
    if findings:
        first = findings[0]
        findings[0] = first._replace(because=(*first.because, *contradictions(evidence)))
    error = None if findings else _unplaced(evidence) or first_error(evidence.events)
    healthy = not findings and started(evidence.events) and not crashed(evidence.events)
    missing = () if healthy else missing_evidence(evidence, tuple(findings))
    return Diagnosis(tuple(findings), (), missing, error, evidence.logged)


def relevant(causes: Iterable[tuple[str, tuple[str, ...]]], events: Iterable[Event]) -> tuple[str, ...]:
    """Return the modules of the causes whose signatures occur; those that our arithmetic finds alone always apply.

    Args:
        causes: pairs of a module's name and the signatures that it reads.
        events: of the life at hand; without a log every cause is asked.
    """
    told = tuple(events)
    logged = any(event.source is None for event in told)
    seen = {event.signature for event in told} if logged else set()
    return tuple(module for module, reads in causes if not seen or not reads or seen & set(reads))


def first_error(events: Iterable[Event]) -> Claim | None:
    """Return the first line that tells of an error, never a wrapper; None when none was printed."""
    event = next((event for event in events if event.kind in _ERRORS and event.signature != "traceback_start"), None)
    return None if event is None else claim("diagnosis.first-error", event.where, text=event.quote)


def _unplaced(evidence: Evidence) -> Claim | None:
    """Return that memory ran out where nothing shows in which phase: each phase has remedies of its own."""
    found = exhaustion(evidence)
    if found is None or found.phase is not None:
        return None
    return claim("diagnosis.unplaced", found.event.where, text=found.event.quote)


def crashed(events: Sequence[Event]) -> bool:
    """Tell whether the log shows that the engine failed, recognised or not.

    Once a server is ready, an error may concern a single request: only wrappers tell that the engine died. After an
    orderly stop these are the noise of processes that end.
    """
    ready = next((event.line for event in events if event.signature == "server_ready"), None)
    stopped = next((event.line for event in events if event.signature == "server_stopped"), float("inf"))
    if ready is None and any(event.kind == "error" for event in events):
        return True
    return any(event.kind == "wrapper" and (ready or 0) < event.line < stopped for event in events)


def started(events: Iterable[Event]) -> bool:
    """Tell whether the log shows a start that succeeded: an open port, or, without a server, a ready engine."""
    seen = {event.signature for event in events}
    if seen & {"server_ready", "server_listening"}:
        return True
    return "engine_ready" in seen and not seen & {"api_server_version", "server_args", "non_default_args"}


def _order(finding: Finding) -> tuple[float, int]:
    line = float("inf") if finding.line is None else float(finding.line)
    return line, _SURE.index(finding.confidence)
