"""Ranks could not form their group (NCCL, Gloo).

Several GPUs or nodes must talk to each other before anything is loaded, and that failed.

What you see
------------
"NCCL error: unhandled system error", "ncclInvalidUsage", "Unable to find address for: eth9", "Connection closed by peer",
"DistStoreError: Timed out", "Barrier timed out", "NIXL_ERR_BACKEND".

Why it happens
--------------
A network interface that does not exist (NCCL_SOCKET_IFNAME, GLOO_SOCKET_IFNAME), ports that are blocked between nodes, two
ranks on one GPU, peer-to-peer access that the host does not allow, left-over segments in /dev/shm after many restarts. Very
often it is only what the *other* ranks see when one of them died: then the first error of that one is the cause.

Example
-------
    $ oomedic diagnose -
    RuntimeError: [enforce fail at /pytorch/third_party/gloo/gloo/transport/tcp/device.cc:83] ifa != nullptr. Unable to find address for: eth9

    $ oomedic diagnose -
    RuntimeError: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details)

Not this
--------
One rank failed the memory check; the others report a lost connection:

    $ oomedic diagnose -
    (Worker_TP1 pid=12) RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:547] Connection closed by peer [127.0.0.1]:4004
    (Worker_TP0 pid=11) ValueError: Free memory on device cuda:0 (36.75/121.63 GiB) on startup is less than desired GPU memory utilization (0.85, 103.38 GiB).

What helps, in order, and why
-----------------------------
NCCL_DEBUG=INFO names the failing call. Then the right interface, shared memory at /dev/shm, a GPU for each rank, or no
custom all-reduce (--disable-custom-all-reduce).

What makes it worse
-------------------
Nothing; memory settings play no part.

Since
-----
All releases.

Says
----
interface: The network interface {interface} does not exist in this container.
nccl: NCCL could not set up the group of ranks: {reason}.
nccl-unknown: NCCL could not set up the group of ranks.
peer: Two GPUs of this node cannot read each other's memory (peer access), which the ranks wanted to do.
duplicate: Two ranks were given the same GPU: fewer GPUs are visible than ranks were started, or CUDA_VISIBLE_DEVICES names one twice.
lost: A rank lost its connection to another one, and no rank says why. The one that died first holds the cause.
timeout: Ranks waited for each other in vain.
custom: vLLM's custom all-reduce failed: {reason}.
transfer: The connector that moves the KV cache between engines failed: {reason}.
debug: NCCL_DEBUG=INFO makes NCCL name the call that failed.
"""

from oomedic.cause import cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Confidence, Finding
from oomedic.logs.fields import line_of, text
from oomedic.logs.signatures import Event
from oomedic.symptoms.failures import failure, outweighed

_NAMED = "network_interface_missing"
_PAIRS = {"peer_access_missing": "CFG106.peer", "gpu_duplicate": "CFG106.duplicate"}
_NCCL = ("nccl_error", "custom_all_reduce_failed")
_TRANSFER = "transfer_backend_failed"
_SYMPTOMS = ("peer_connection_lost", "collective_timeout", "barrier_timeout")


@cause(
    "CFG106",
    "collective-init-failed",
    reads=(_NAMED, *_PAIRS, *_NCCL, _TRANSFER, *_SYMPTOMS),
    helps=("FIX306", "FIX401", "FIX412"),
    useless=("FIX101", "FIX102", "FIX103", "FIX104", "FIX105", "FIX107", "FIX108", "FIX201"),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise a failed group; an error of a rank that explains it comes first, wherever it stands."""
    event = failure(evidence, _NAMED)
    if event is not None:
        return _finding(event, "certain", claim("CFG106.interface", line_of(event), interface=text(event, "interface")))
    event = failure(evidence, *_PAIRS)
    if event is not None:
        return _finding(event, "certain", claim(_PAIRS[event.signature], line_of(event)))
    event = failure(evidence, *_NCCL)
    if event is not None and "emote" in (text(event, "reason") or ""):
        return None if outweighed(evidence, event, (*_NCCL, *_SYMPTOMS)) else _lost(event)
    if event is not None and not outweighed(evidence, event, (*_NCCL, *_SYMPTOMS)):
        return _finding(event, "likely", _nccl(event), claim("CFG106.debug"))
    return _transfer(evidence) or _symptom(evidence)


def _transfer(evidence: Evidence) -> Finding | None:
    event = failure(evidence, _TRANSFER)
    if event is None or outweighed(evidence, event, _SYMPTOMS):
        return None
    said = claim("CFG106.transfer", line_of(event), reason=text(event, "reason"))
    return _finding(event, "likely", said)


def _symptom(evidence: Evidence) -> Finding | None:
    event = failure(evidence, *_SYMPTOMS)
    if event is None or outweighed(evidence, event, _SYMPTOMS):
        return None
    if event.signature == "peer_connection_lost":
        return _lost(event)
    return _finding(event, "possible", claim("CFG106.timeout", line_of(event)), claim("CFG106.debug"))


def _lost(event: Event) -> Finding:
    return _finding(event, "possible", claim("CFG106.lost", line_of(event)), claim("CFG106.debug"))


def _nccl(event: Event) -> Claim:
    reason = (text(event, "reason") or "").strip() or None
    if event.signature == "custom_all_reduce_failed":
        return claim("CFG106.custom", line_of(event), reason=reason)
    return (
        claim("CFG106.nccl", line_of(event), reason=reason) if reason else claim("CFG106.nccl-unknown", line_of(event))
    )


def _finding(event: Event, confidence: Confidence, *claims: Claim) -> Finding:
    return Finding("CFG106", "collective-init-failed", confidence, claims, event.line, "nccl_init")
