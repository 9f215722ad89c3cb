"""The host ran out of memory, not the GPU.

The kernel killed a process at the container's or the node's memory limit, or refused it more memory.

What you see
------------
"OOMKilled", exit code 137, "Out of memory: Killed process", a worker that "died unexpectedly" with exit code -9, or
"Failed core proc(s): {'EngineCore_DP0': -9}" without any error above it. Where memory is refused rather than taken:
"DefaultCPUAllocator: can't allocate memory", "std::bad_alloc", "failed to map segment from shared object".

Why it happens
--------------
Loading reads the checkpoint through host memory; weights that stay there (cpu_offload_gb, offloaded experts), swap space, a
KV cache kept in host memory by a connector, and the pages of /dev/shm all count against the container's limit. Several of
these are per rank. The kernel may kill a worker only: then the pod shows "Error, 1" and the log just a worker that is gone.

Example
-------
    $ oomedic diagnose -
    INFO  [uva.py:65] Total CPU offloaded parameters: 73.55
    Out of memory: Killed process (VLLM::Worker_TP)
    RuntimeError: Engine core initialization failed. Failed core proc(s): {'EngineCore': 1}

A process that is gone without a word:

    $ oomedic diagnose -
    INFO 11-30 15:35:17 [core.py:76] Initializing a V1 LLM engine (v0.10.2) with config: model='m'
    INFO 11-30 15:35:18 [cpu_model_runner.py:101] Starting to load model m...
    RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore_DP0': -9}

Not this
--------
A failed probe also ends in SIGKILL:

    $ oomedic diagnose -
    Normal   Killing    2m    kubelet  Container vllm failed startup probe, will be restarted
      Exit Code:    137

What helps, in order, and why
-----------------------------
A higher memory limit (and request) of the container, on a node that has it. Less in host memory: no offloading, a smaller
swap space or host cache. Where host and GPU share one memory (GB10, Jetson), a lower gpu_memory_utilization as well.

What makes it worse
-------------------
cpu_offload_gb and swap_space, both meant against GPU errors. Where the host has memory of its own, no GPU setting plays a part.

Since
-----
All releases.

Says
----
killed: The kernel killed a process because host memory was used up.
evicted: The node ran short of memory and evicted the pod.
refused: The host refused the engine more memory ({size:gib}): its own or the container's limit is reached; `kubectl describe pod` and ulimit -v tell which.
refused-plain: The host refused the engine more memory: its own or the container's limit is reached; `kubectl describe pod` and ulimit -v tell which.
gone: A process of the engine was ended by SIGKILL without a word of its own, as the kernel does when host memory is used up. `kubectl describe pod` (Last State: OOMKilled) or the node's kernel log decides.
silent: A process of the engine is gone without a word of its own. The kernel's out-of-memory killer does that; `kubectl describe pod` (Last State: OOMKilled) or the node's kernel log decides.
unsure: Something killed the process (exit code 137). `kubectl describe pod` decides: reason OOMKilled is host memory, a failed probe is not.
offloaded: {offloaded:gib} of weights were kept in host memory, for every rank.
"""

from oomedic.cause import cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Confidence, Finding
from oomedic.logs.fields import line_of, size, text
from oomedic.logs.signatures import Event
from oomedic.symptoms.failures import failure, outweighed
from oomedic.symptoms.silence import killed_by, silent_death

_REFUSED = ("host_allocation_refused", "host_mapping_refused")
_EVICTED = "host_memory_pressure"
_RAY = "ray_worker_vanished"


@cause(
    "HOST101",
    "host-oom-killed",
    reads=(
        "process_killed",
        _RAY,
        _EVICTED,
        *_REFUSED,
        "worker_died",
        "engine_core_initialization_failed",
        "engine_dead",
    ),
    helps=("FIX402", "FIX115", "FIX103"),
    useless=("FIX101", "FIX102", "FIX104", "FIX105", "FIX107", "FIX108", "FIX112"),
    worsens=("FIX111", "FIX113"),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise the kernel's kill, a refused allocation, or a process that is gone without a word."""
    return _killed(evidence) or _evicted(evidence) or _refused(evidence) or _gone(evidence)


def _killed(evidence: Evidence) -> Finding | None:
    named = next((event for event in evidence.all("process_killed") if event.fields.get("oom")), None)
    if named is not None:
        return _finding(evidence, named, "certain", claim("HOST101.killed", line_of(named)))
    event = evidence.first("process_killed")
    if event is None or evidence.first("probe_failed") or outweighed(evidence, event):
        return None
    return _finding(evidence, event, "possible", claim("HOST101.unsure", line_of(event)))


def _evicted(evidence: Evidence) -> Finding | None:
    event = evidence.first(_EVICTED)
    if event is None or text(event, "resource") != "memory":
        return None
    return _finding(evidence, event, "certain", claim("HOST101.evicted", line_of(event)))


def _refused(evidence: Evidence) -> Finding | None:
    event = failure(evidence, *_REFUSED)
    if event is None or (event.signature == "host_mapping_refused" and size(event, "size")):
        return None
    asked = size(event, "size")
    where = line_of(event)
    said = claim("HOST101.refused", where, size=asked.value) if asked else claim("HOST101.refused-plain", where)
    return _finding(evidence, event, "likely", said)


def _gone(evidence: Evidence) -> Finding | None:
    event = silent_death(evidence)
    if event is None:
        event = failure(evidence, _RAY)
        if event is None or outweighed(evidence, event) or evidence.first("python_error"):
            return None
    signal = killed_by(event)
    if signal == 9:
        return _finding(evidence, event, "likely", claim("HOST101.gone", line_of(event)))
    return None if signal else _finding(evidence, event, "possible", claim("HOST101.silent", line_of(event)))


def _finding(evidence: Evidence, event: Event, confidence: Confidence, said: Claim) -> Finding:
    kept = evidence.figure("parameters_offloaded", "offloaded")
    offloaded = () if kept is None else (claim("HOST101.offloaded", kept.where, offloaded=kept.value),)
    return Finding("HOST101", "host-oom-killed", confidence, (said, *offloaded), event.line, "host_oom")
