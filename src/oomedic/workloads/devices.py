"""The devices that a pod asks for: extended resources, MIG profiles, and claims (dynamic resource allocation)."""

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from oomedic.errors import UsageError
from oomedic.units import MIB, parse_quantity
from oomedic.workloads.source import Source
from oomedic.workloads.workload import Amount
from oomedic.yamldoc.nodes import Node, ScalarNode, fields, get, items, text_of

_RESOURCES: Final = (
    re.compile(r"nvidia\.com/(?:gpu(?:\.shared|-[\w.-]+)?|mig-[\w.-]+|pgpu|vgpu|[A-Z][\w.-]*)"),
    re.compile(
        r"amd\.com/gpu|(?:aws\.amazon\.com/neuron|google\.com/tpu|habana\.ai/gaudi|gpu\.intel\.com/|huawei\.com/"
        r"|rebellions\.ai/).*"
    ),
)
_NOT_CUDA: Final = re.compile(
    r"(?:dra:)?(?:[\w-]+\.)*(?:aws\.amazon\.com|google\.com|habana\.ai|intel\.com|huawei\.com|rebellions\.ai|neuron)"
)
_SLICE: Final = re.compile(r"mig-\d+[\w.]*?\.(\d+)gb")
_QUANTITY: Final = re.compile(r"quantity\(\s*['\"]([^'\"]+)['\"]\s*\)")
_SHARES: Final[Mapping[str, tuple[int | None, str]]] = {
    "nvidia.com/gpumem": (MIB, "MiB"),
    "nvidia.com/gpumem-percentage": (None, "%"),
}
"""What HAMi cuts from a card: so much of it, or a part of it."""


class Devices(NamedTuple):
    """Resource name and the ``number`` of it that one pod gets.

    ``leaves`` are where the number is written, ``memory`` what one of them has, where its name or the claim says so.
    """

    resource: str | None = None
    number: int | None = None
    leaves: tuple[ScalarNode, ...] = ()
    memory: Amount | None = None

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
                    return Devices(name, count, tuple(_leaves(container, name)), _memory(name, container))
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


def least_memory(expression: str) -> Amount | None:
    """Read the lower bound of memory in the expression that selects devices.

    >>> least_memory("device.capacity['gpu.nvidia.com']['memory'].compareTo(quantity('40Gi')) >= 0").written
    '40Gi'
    """
    lines = (line for line in expression.replace("&&", "\n").splitlines() if "memory" in line and "<" not in line)
    for line in lines:
        found = _QUANTITY.search(line)
        if found:
            return Amount(whole(found[1]), found[1])
    return None


def _leaves(container: Node, name: str) -> Iterator[ScalarNode]:
    for field in ("limits", "requests"):
        leaf = get(container, "resources", field, name)
        if isinstance(leaf, ScalarNode):
            yield leaf


def _memory(name: str, container: Node) -> Amount | None:
    """Return the memory of a slice by its name, or the share that HAMi cuts from a card."""
    found = _SLICE.search(name)
    if found:
        return Amount(int(found[1]) * 10**9, f"{found[1]} GB")
    for share, (size, unit) in _SHARES.items():
        asked = (text_of(get(container, "resources", field, share)) for field in ("limits", "requests"))
        written = next((text for text in asked if text), None)
        count = whole(written)
        if count is not None:
            return Amount(None if size is None else count * size, f"{written} {unit}")
    return None


def _claimed(container: Node, pod: Node | None, source: Source) -> Devices:
    """Follow a container's claims to the ResourceClaim or its template, if that stands in the same manifest.

    What a chart makes a template of stands in the claim itself, under ``spec``.
    """
    wanted = {text_of(get(claim, "name")) for claim in items(get(container, "resources", "claims"))}
    for claim in items(get(pod, "resourceClaims")):
        if text_of(get(claim, "name")) not in wanted:
            continue
        found = source.find("ResourceClaim", text_of(get(claim, "resourceClaimName")))
        template = source.find("ResourceClaimTemplate", text_of(get(claim, "resourceClaimTemplateName")))
        devices = (
            _requested(found.at("/spec/devices/requests") if found else None)
            or _requested(template.at("/spec/spec/devices/requests") if template else None)
            or _requested(get(claim, "spec", "devices", "requests"))
        )
        if devices:
            return devices
    return Devices()


def _requested(requests: Node | None) -> Devices | None:
    for request in items(requests):
        exactly = get(request, "exactly") or request
        device_class = text_of(get(exactly, "deviceClassName"))
        if device_class:
            every = text_of(get(exactly, "allocationMode")) == "All"
            count = get(exactly, "count")
            selectors = (text_of(get(each, "cel", "expression")) for each in items(get(exactly, "selectors")))
            bounds = (least_memory(expression) for expression in selectors if expression)
            return Devices(
                f"dra:{device_class}",
                None if every else whole(text_of(count) or "1"),
                (count,) if isinstance(count, ScalarNode) else (),
                next((bound for bound in bounds if bound), None),
            )
    return None
