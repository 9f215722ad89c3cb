"""Driver, container runtime and image do not belong together.

CUDA in the image cannot talk to the driver of the node, or the container sees no driver at all.

What you see
------------
"Error 803: system has unsupported display driver / cuda driver combination", "The NVIDIA driver on your system is too old",
"forward compatibility was attempted on non supported HW" (804), "Driver/library version mismatch", "No CUDA GPUs are
available", "Failed to infer device type", "libcuda.so.1: cannot open shared object file".

Why it happens
--------------
An image with a newer CUDA than the driver knows; compatibility libraries of the image that hide the host's driver library
(images from 0.15 on with driver 580 and newer); a driver that was updated while the old one is still loaded. Without the NVIDIA
runtime class, or when the pod requests no GPU, the container has neither driver nor device.

Example
-------
    $ oomedic diagnose -
    RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling NumCudaDevices() that might have already set an error? Error 803: system has unsupported display driver / cuda driver combination

    $ oomedic diagnose -
    RuntimeError: Failed to infer device type

Not this
--------
On machines with NVSwitch a service of the host is missing:

    $ oomedic diagnose -
    RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized

What helps, in order, and why
-----------------------------
An image whose CUDA the driver supports, or a newer driver on the node. LD_LIBRARY_PATH with the host's driver libraries first,
where the image's own hide them. A GPU request and the NVIDIA runtime class, where the container sees no GPU.

What makes it worse
-------------------
Nothing; memory settings play no part.

Since
-----
All releases.

Says
----
combination: CUDA in this image and the driver of the node do not go together (error {code}): the image's own compatibility libraries may hide the host's.
too-old: The driver of the node is older than CUDA in this image needs.
no-cuda: PyTorch in this image is built without CUDA: the image is for another platform, or a package replaced its PyTorch.
invisible: The container sees no GPU or no driver. nvidia-smi in the same container, and on the node, tells which.
unrequested: The manifest requests no GPU for this container.
reloaded: The driver's kernel module and its library are of different versions: it was updated without a restart of the node.
driver: The node's driver is {version}; the newest CUDA that it runs is {cuda}.
refused: NVIDIA's container runtime refused to start the container: {reason}.
library: The image lacks {library}, or has it in another version.
"""

from oomedic.cause import cause
from oomedic.claim import Claim, claim
from oomedic.evidence import Evidence
from oomedic.finding import Finding
from oomedic.logs.fields import count, line_of, text
from oomedic.logs.signatures import Event
from oomedic.symptoms.failures import failure, outweighed

_PLATFORM = "platform_missing"
_COMBINATION = frozenset({803, 804})
_OF_CUDA = ("libcud", "libnv", "libcublas", "libnccl")


@cause(
    "GPU102",
    "driver-or-runtime-mismatch",
    reads=(
        *("cuda_initialisation", "driver_too_old", "gpu_invisible", "nvml_failed"),
        *("container_toolkit_refused", "library_missing", "torch_without_cuda", "gpu_driver", _PLATFORM),
    ),
    helps=("FIX414", "FIX407", "FIX413", "FIX412", "FIX411"),
    useless=("FIX101", "FIX102", "FIX103", "FIX104", "FIX105", "FIX107", "FIX108", "FIX201"),
)
def match(evidence: Evidence) -> Finding | None:
    """Recognise what CUDA, NVML or the container runtime says about the driver."""
    told = (event for event in evidence.events if _concerns(event))
    first = next(told, None)
    if first is None:
        return _without_platform(evidence)
    fatal = failure(evidence, first.signature)
    if fatal is None:
        return None
    first = fatal if _concerns(fatal) else first
    claims = (_said(first), *_unrequested(evidence, first), *_driver(evidence))
    certain = first.signature not in {"gpu_invisible", "library_missing"}
    return Finding(
        "GPU102", "driver-or-runtime-mismatch", "certain" if certain else "likely", claims, first.line, "other"
    )


def _without_platform(evidence: Evidence) -> Finding | None:
    """Recognise an engine that found no device at all, where the log ends before it fails for it."""
    event = failure(evidence, _PLATFORM)
    if event is None or outweighed(evidence, event) or evidence.first("python_error") is not None:
        return None
    said = claim("GPU102.invisible", line_of(event))
    return Finding("GPU102", "driver-or-runtime-mismatch", "possible", (said,), event.line, "other")


def _concerns(event: Event) -> bool:
    if event.signature == "cuda_initialisation":
        return count(event, "code") in {*_COMBINATION, 100}
    if event.signature == "nvml_failed":
        return "ismatch" in event.quote
    if event.signature == "library_missing":
        return (text(event, "library") or "").startswith(_OF_CUDA)
    if event.signature == "container_toolkit_refused":
        return not (text(event, "reason") or "").startswith("device error")
    return event.signature in {"driver_too_old", "gpu_invisible", "torch_without_cuda"}


def _said(event: Event) -> Claim:
    where, code = line_of(event), count(event, "code")
    if code in _COMBINATION:
        return claim("GPU102.combination", where, code=code)
    if event.signature == "nvml_failed":
        return claim("GPU102.reloaded", where)
    if event.signature == "container_toolkit_refused":
        return claim("GPU102.refused", where, reason=text(event, "reason"))
    if event.signature == "library_missing":
        return claim("GPU102.library", where, library=text(event, "library"))
    if event.signature == "torch_without_cuda":
        return claim("GPU102.no-cuda", where)
    return claim("GPU102.too-old" if event.signature == "driver_too_old" else "GPU102.invisible", where)


def _unrequested(evidence: Evidence, event: Event) -> tuple[Claim, ...]:
    if event.signature != "gpu_invisible" or evidence.workload is None or evidence.workload.gpus_per_pod:
        return ()
    return (claim("GPU102.unrequested", "manifest"),)


def _driver(evidence: Evidence) -> tuple[Claim, ...]:
    driver = evidence.first("gpu_driver")
    if driver is None or not text(driver, "cuda"):
        return ()
    return (claim("GPU102.driver", line_of(driver), version=text(driver, "version"), cuda=text(driver, "cuda")),)
