"""The host refused to map a file or to pin memory.

A large piece of host memory was asked for at once (a weights file mapped into memory, a pinned buffer, the cache of the CPU
backend) and refused, although nothing was killed.

What you see
------------
"unable to mmap N bytes from file <…>: Cannot allocate memory (12)"; "CUDA error: out of memory" with pin_memory in the
traceback, while GPU and host have room; on the CPU backend "Available memory on node … is less than requested memory for
kv"; "Too many open files", "can't start new thread".

Why it happens
--------------
Mapping a file needs address space, which ulimit -v, the container's limit or the kernel's overcommit policy bound. Pinned
memory has a ceiling of its own: locked pages (ulimit -l), and on WSL2 and some drivers a few GiB. CUDA reports that as "out
of memory" too. Processes, threads and open files have limits of their own.

Example
-------
    $ oomedic diagnose -
    RuntimeError: unable to mmap 16933256392 bytes from file </cache/model.safetensors>: Cannot allocate memory (12)

Not this
--------
    $ oomedic diagnose -
    torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 270.00 MiB. GPU 0 has a total capacity of 22.06 GiB of which 120.00 MiB is free. Including non-PyTorch memory, this process has 21.94 GiB memory in use. Of the allocated memory 21.20 GiB is allocated by PyTorch, and 300.00 MiB is reserved by PyTorch but unallocated.

What helps, in order, and why
-----------------------------
A higher memory limit of the container and no ulimit on address space or locked pages. A smaller host cache
(VLLM_CPU_KVCACHE_SPACE, swap_space), no offloading.

What makes it worse
-------------------
cpu_offload_gb and swap_space: both take pinned host memory.

Since
-----
All releases.

Says
----
mapping: The host refused to map {size:gib} of a file into memory.
limit: A limit of the container is reached: {limit}.
pinned: Pinning host memory failed. CUDA words it like a lack of GPU memory, but the GPU is not what is full.
kv-space: {requested:gib} of KV cache space were asked for in host memory; {free:gib} of {total:gib} are free.
"""

from oomedic.cause import cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Confidence, Finding
from oomedic.logs.fields import line_of, size, text
from oomedic.logs.signatures import Event
from oomedic.symptoms.exhaustion import pinning
from oomedic.symptoms.failures import WEAK, failure, outweighed

_PRINTED = ("host_mapping_refused", "cpu_kv_cache_unavailable", "process_limit_reached")


@cause(
    "HOST105",
    "host-allocation-refused",
    reads=(*_PRINTED, "cuda_driver_out_of_memory"),
    helps=("FIX402", "FIX409", "FIX115"),
    useless=("FIX101", "FIX102", "FIX103", "FIX104", "FIX105", "FIX107", "FIX108", "FIX112"),
    worsens=("FIX111", "FIX113"),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise a refused mapping, a refused cache of the CPU backend, or memory that could not be pinned."""
    event = failure(evidence, *_PRINTED)
    if event is not None and event.signature in WEAK and outweighed(evidence, event):
        return None
    said = None if event is None else _said(event)
    if event is not None and said is not None:
        return _finding(event, said, "certain")
    event = pinning(evidence)
    return None if event is None else _finding(event, claim("HOST105.pinned", line_of(event)), "likely")


def _said(event: Event) -> Claim | None:
    where = line_of(event)
    if event.signature == "process_limit_reached":
        return claim("HOST105.limit", where, limit=text(event, "limit"))
    mapped = size(event, "size")
    if mapped is not None:
        return claim("HOST105.mapping", where, size=mapped.value)
    requested, free, total = size(event, "requested"), size(event, "free"), size(event, "total")
    if requested is None or free is None or total is None:
        return None
    return claim("HOST105.kv-space", where, requested=requested.value, free=free.value, total=total.value)


def _finding(event: Event, said: Claim, confidence: Confidence) -> Finding:
    return Finding("HOST105", "host-allocation-refused", confidence, (said,), event.line, "host_oom")
