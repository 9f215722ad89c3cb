"""The kubelet stopped the container before the engine was ready.

A probe gave up while weights were loading or graphs were captured; the engine itself did nothing wrong.

What you see
------------
Events: "Container vllm failed startup probe, will be restarted", "Liveness probe failed: … connection refused". In the log
"KeyboardInterrupt: terminated" or "Shutting down" before "Application startup complete"; or the log just ends (exit code 137).
With several API servers "Timed out waiting for engine core processes to start", of the engine's own clock.

Why it happens
--------------
A start takes minutes: reading weights from a network disk, compiling, capturing. The startup probe allows initialDelaySeconds
+ periodSeconds x failureThreshold; a liveness probe without a startup probe counts from the first second. Drains, rollouts and
spot interruptions stop a container in the same way.

Example
-------
    $ oomedic diagnose -
    Normal   Killing    2m    kubelet  Container vllm failed startup probe, will be restarted

    $ oomedic diagnose -
    INFO 11-30 15:35:17 [core.py:76] Initializing a V1 LLM engine (v0.10.2) with config: model='m'
    INFO 11-30 15:35:18 [gpu_model_runner.py:2338] Starting to load model m...
    KeyboardInterrupt: terminated

Not this
--------
    $ oomedic diagnose -
        Last State:  Terminated  Reason: OOMKilled  Exit Code: 137

What helps, in order, and why
-----------------------------
A startup probe that allows more than the slowest start; a liveness probe that leaves the start alone. Faster loading.

What makes it worse
-------------------
A higher initialDelaySeconds of the liveness probe alone: it delays detection later without a bound on the start. Memory settings
play no part.

Since
-----
All releases.

Says
----
probe: The {probe} probe failed before the engine was ready, and the kubelet restarts the container.
probe-failed: The {probe} probe failed; whether the kubelet restarted the container for it, `kubectl describe pod` tells.
stopped: The engine was told to stop while it was still starting: a failed probe, a rollout or a drained node does that. `kubectl describe pod` decides.
ready: The API server gave up waiting for the engine, which was still starting or hung; no error of it is in this log. VLLM_ENGINE_READY_TIMEOUT_S bounds that wait.
killed: The container was killed {seconds} seconds after it started, before the engine was ready: about what its {probe} probe allows.
budget: The startup probe allows {budget} seconds.
liveness: Without a startup probe the liveness probe allows {budget} seconds from the first moment on.
"""

from oomedic.cause import cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Confidence, Finding
from oomedic.logs.fields import count, line_of, text
from oomedic.symptoms.failures import failure, outweighed

_STARTED = ("engine_start", "version_banner", "api_server_version", "non_default_args", "model_load_start")
_ENDS = ("process_killed", "exit_signal")
_TIMEOUT = "engine_start_timeout"
_TERMINATED = 143
_GRACE = 60
"""Seconds from the probe's last failure to the kill: a container has 30 of them to end by itself."""


@cause(
    "POD101",
    "probe-killed-while-loading",
    reads=("probe_failed", "server_stopped", _TIMEOUT, *_ENDS),
    helps=("FIX409", "FIX403", "FIX404"),
    useless=("FIX101", "FIX102", "FIX103", "FIX104", "FIX105", "FIX108", "FIX402"),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise the kubelet's events, or a stop before the server was ready without any error."""
    return _probe(evidence) or _killed(evidence) or _stopped(evidence) or _gave_up(evidence)


def _probe(evidence: Evidence) -> Finding | None:
    failed = [event for event in evidence.all("probe_failed") if text(event, "probe") not in {"readiness", "Readiness"}]
    event = next((event for event in failed if event.fields.get("restarts")), None)
    if event is not None:
        said = claim("POD101.probe", line_of(event), probe=text(event, "probe"))
        return _finding(evidence, event.line, "certain", said)
    if not failed:
        return None
    said = claim("POD101.probe-failed", line_of(failed[0]), probe=(text(failed[0], "probe") or "").lower())
    return _finding(evidence, failed[0].line, "likely", said)


def _killed(evidence: Evidence) -> Finding | None:
    """Recognise a kill at the moment at which a probe gives up."""
    event = next((each for each in evidence.all(*_ENDS) if not each.fields.get("oom")), None)
    seconds = count(event, "seconds") if event else None
    if event is None or seconds is None or evidence.first("server_ready") or _failed(evidence):
        return None
    probes = evidence.workload.probes if evidence.workload else None
    name, probe = ("startup", probes.startup) if probes and probes.startup else ("liveness", probes and probes.liveness)
    if not probe or not probe.budget_s - probe.period <= seconds <= probe.budget_s + _GRACE:
        return None
    return _finding(evidence, event.line, "likely", claim("POD101.killed", line_of(event), seconds=seconds, probe=name))


def _stopped(evidence: Evidence) -> Finding | None:
    terminated = (event for event in evidence.all("exit_signal") if count(event, "code") == _TERMINATED)
    event = evidence.first("server_stopped") or next(terminated, None)
    if event is None or evidence.first("server_ready") or evidence.first(*_STARTED) is None:
        return None
    if _failed(evidence):
        return None
    return _finding(evidence, event.line, "possible", claim("POD101.stopped", line_of(event)))


def _gave_up(evidence: Evidence) -> Finding | None:
    """Recognise an API server that stopped waiting for an engine which says of no error."""
    event = failure(evidence, _TIMEOUT)
    if event is None or outweighed(evidence, event):
        return None
    return _finding(evidence, event.line, "likely", claim("POD101.ready", line_of(event)))


def _failed(evidence: Evidence) -> bool:
    errors = (event for event in evidence.events if event.kind == "error" or event.signature == "python_error")
    return any(event.signature != "process_killed" for event in errors)


def _finding(evidence: Evidence, line: int, confidence: Confidence, said: Claim) -> Finding:
    phase = evidence.phase_reached() or "other"
    return Finding("POD101", "probe-killed-while-loading", confidence, (said, *_budget(evidence)), line, phase)


def _budget(evidence: Evidence) -> tuple[Claim, ...]:
    probes = evidence.workload.probes if evidence.workload else None
    if probes is None or (probes.startup is None and probes.liveness is None):
        return ()
    if probes.startup is not None:
        return (claim("POD101.budget", "manifest", budget=probes.startup.budget_s),)
    return (claim("POD101.liveness", "manifest", budget=probes.liveness.budget_s if probes.liveness else None),)
