"""A disk is full.

The volume with the model's files, the cache of downloads, or the node's own disk has no room left.

What you see
------------
"OSError: [Errno 28] No space left on device" while weights are downloaded, "Disk quota exceeded", or an eviction:
"The node was low on resource: ephemeral-storage".

Why it happens
--------------
Weights are downloaded to HF_HOME, which lies in the container's own file system unless a volume is mounted there; that
file system is the node's disk, shared with images and other pods, and limited by ephemeral-storage. Compile caches, and
connectors that keep KV cache on disk (for each rank), take more.

Example
-------
    $ oomedic diagnose -
    OSError: [Errno 28] No space left on device

    $ oomedic diagnose -
    Warning  Evicted              12m                kubelet  The node was low on resource: ephemeral-storage. Threshold quantity: 638834513199, available: 434266920Ki.

Not this
--------
/dev/shm is memory, not a disk:

    $ oomedic diagnose -
    OSError: [Errno 28] No space left on device: '/psm_274ddcce'

What helps, in order, and why
-----------------------------
A larger volume for the cache, or a larger ephemeral-storage limit and disk of the node; less on disk.

What makes it worse
-------------------
More ranks, where each of them keeps a cache on disk. Memory settings play no part.

Since
-----
All releases.

Says
----
summary: A disk is full: files of the model or of a cache could not be written.
evicted-plain: The node ran short of {resource} and evicted the pod.
evicted: The node ran short of {resource} and evicted the pod; {available} was available.
download: A file of {expected:gib} was to be downloaded where {free:gib} was free.
"""

from oomedic.cause import cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import line_of, size, text
from oomedic.symptoms.failures import failure

_EVICTED = "host_memory_pressure"


@cause(
    "HOST103",
    "disk-or-ephemeral-storage-full",
    reads=("disk_full", "disk_quota_exceeded", _EVICTED),
    helps=("FIX406",),
    useless=("FIX101", "FIX102", "FIX103", "FIX104", "FIX105", "FIX107", "FIX108", "FIX402"),
    worsens=("FIX301",),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise a write that failed, or an eviction for want of disk."""
    return _full(evidence) or _evicted(evidence)


def _full(evidence: Evidence) -> Finding | None:
    event = failure(evidence, "disk_full", "disk_quota_exceeded")
    if event is None:
        return None
    claims = (claim("HOST103.summary", line_of(event)), *_download(evidence))
    return Finding("HOST103", "disk-or-ephemeral-storage-full", "certain", claims, event.line, "host_oom")


def _evicted(evidence: Evidence) -> Finding | None:
    event = next((each for each in evidence.all(_EVICTED) if text(each, "resource") != "memory"), None)
    if event is None:
        return None
    where, resource, available = line_of(event), text(event, "resource"), text(event, "available")
    said = (
        claim("HOST103.evicted", where, resource=resource, available=available)
        if available
        else claim("HOST103.evicted-plain", where, resource=resource)
    )
    return Finding("HOST103", "disk-or-ephemeral-storage-full", "certain", (said,), event.line, "host_oom")


def _download(evidence: Evidence) -> tuple[Claim, ...]:
    warning = evidence.first("disk_space_short")
    expected, free = size(warning, "expected"), size(warning, "free")
    if warning is None or expected is None or free is None:
        return ()
    return (claim("HOST103.download", line_of(warning), expected=expected.value, free=free.value),)
