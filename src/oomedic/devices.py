"""The devices that a pod asks for: extended resources, MIG profiles, and claims (dynamic resource allocation)."""

import re
from typing import Final, NamedTuple

from oomedic.errors import UsageError
from oomedic.kube_object import KubeObject, Source
from oomedic.units import parse_quantity
from oomedic.yamlnodes import Node, fields, get, items, text_of

_RESOURCES: Final = (
    re.compile(r"nvidia\.com/(?:gpu(?:\.shared|-[\w.-]+)?|mig-[\w.-]+|pgpu|vgpu)"),
    re.compile(
        r"amd\.com/gpu|(?:aws\.amazon\.com/neuron|google\.com/tpu|habana\.ai/gaudi|gpu\.intel\.com/|huawei\.com/).*"
    ),
)
_NOT_CUDA: Final = re.compile(
    r"(?:dra:)?(?:aws\.amazon\.com|google\.com|habana\.ai|gpu\.intel\.com|huawei\.com|neuron)"
)


class Devices(NamedTuple):
    """Resource name and the ``number`` of it that one pod gets; ``pointer`` is where the container names it."""

    resource: str | None = None
    number: int | None = None
    pointer: str | None = None

    @property
    def foreign(self) -> bool:
        """Whether the devices are neither NVIDIA's nor AMD's: nothing of CUDA's arithmetic holds on them."""
        return self.resource is not None and _NOT_CUDA.match(self.resource) is not None


def read_devices(container: Node, pod: Node | None, source: Source) -> Devices:
    """Read what a container asks for; Kubernetes copies requests from limits, so either is enough."""
    for field in ("limits", "requests"):
        asked = fields(get(container, "resources", field))
        for pattern in _RESOURCES:
            for name, amount in asked.items():
                count = whole(text_of(amount))
                if pattern.fullmatch(name) and count != 0:
                    return Devices(name, count, f"/resources/{field}")
    return _claimed(container, pod, source)


def whole(text: str | None) -> int | None:
    """Read a number of devices or replicas, None where it is none.

    >>> whole("8"), whole("x"), whole(None)
    (8, None, None)
    """
    try:
        return None if text is None else parse_quantity(text)
    except (UsageError, OverflowError):
        return None


def _claimed(container: Node, pod: Node | None, source: Source) -> Devices:
    """Follow a container's claims to the ResourceClaim or its template, if that stands in the same file."""
    wanted = {text_of(get(claim, "name")) for claim in items(get(container, "resources", "claims"))}
    for claim in items(get(pod, "resourceClaims")):
        if text_of(get(claim, "name")) not in wanted:
            continue
        found = source.find("ResourceClaim", text_of(get(claim, "resourceClaimName")))
        template = source.find("ResourceClaimTemplate", text_of(get(claim, "resourceClaimTemplateName")))
        devices = _requested(found, "/spec/devices/requests") or _requested(template, "/spec/spec/devices/requests")
        if devices:
            return devices
    return Devices()


def _requested(claim: KubeObject | None, pointer: str) -> Devices | None:
    for request in items(claim.at(pointer)) if claim else ():
        exactly = get(request, "exactly") or request
        device_class = text_of(get(exactly, "deviceClassName"))
        if device_class:
            every = text_of(get(exactly, "allocationMode")) == "All"
            return Devices(f"dra:{device_class}", None if every else whole(text_of(get(exactly, "count")) or "1"))
    return None
