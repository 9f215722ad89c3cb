"""Why a pod got no node, from the texts of events: the scheduler's, Karpenter's, EC2's, the autoscaler's.

Sources: kube-scheduler 1.36 (pkg/scheduler/framework/plugins), Karpenter 1.14 (provisioning/scheduling, scheduling,
nodeclaim/lifecycle), karpenter-provider-aws 1.14 (errors, instance), EC2's own error texts.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal, NamedTuple

from oomedic.claim import Claim
from oomedic.errors import Parameter

Kind = Literal[
    "quota",
    "spot-quota",
    "capacity",
    "reservation-full",
    "not-offered",
    "addresses",
    "pool-limit",
    "node-group-full",
    "no-device-plugin",
    "taint",
    "unknown-label",
    "labels",
    "no-instance-type",
    "no-offering",
    "volume-zone",
    "volume-claim",
    "no-free-gpu",
    "host-resources",
]
ORDER: Final[tuple[Kind, ...]] = (
    "quota",
    "spot-quota",
    "reservation-full",
    "capacity",
    "not-offered",
    "addresses",
    "no-device-plugin",
    "pool-limit",
    "node-group-full",
    "unknown-label",
    "no-instance-type",
    "no-offering",
    "taint",
    "volume-zone",
    "volume-claim",
    "labels",
    "no-free-gpu",
    "host-resources",
)
"""What tells most comes first: a refusal of the cloud explains why no node came, full nodes only that none is there."""


class Unplaced(NamedTuple):
    """One reason, as the text gives it: ``details`` are pool, taint, label, type, limit and the like, where named.

    ``of_nodes`` when it is said of nodes that are there, not of those that could come.
    """

    kind: Kind
    details: Mapping[str, Parameter] = {}
    of_nodes: bool = False

    def says(self) -> Claim:
        """Return what it means; plainly where the text does not name what the sentence speaks of."""
        named = all(name in self.details for name in _SPOKEN_OF.get(self.kind, ()))
        return Claim(f"unplaced.{self.kind}.{'says' if named else 'plain'}", self.details)

    def next_step(self) -> Claim:
        """Return what to do."""
        return Claim(f"unplaced.{self.kind}.do", {})


def read_unplaced(text: str) -> tuple[Unplaced, ...]:
    """Return every reason that a text gives, what tells most first; nothing when it speaks of none.

    >>> [reason.kind for reason in read_unplaced("0/3 nodes are available: 3 Insufficient nvidia.com/gpu.")]
    ['no-free-gpu']
    """
    found = dict.fromkeys(_hashable(reason) for part in _parts(text) for reason in _of_part(part))
    reasons = (Unplaced(kind, dict(details), of_nodes) for kind, details, of_nodes in found)
    return tuple(sorted(reasons, key=telling))


def telling(reason: Unplaced) -> tuple[bool, bool, int, int]:
    """Rank reasons: why no node comes before why none of those that are there will do; what names more before less.

    A taint that is not the usual one of GPU nodes keeps a pool for somebody else: that is seldom what is wrong.
    """
    taint = reason.details.get("taint")
    of_others = reason.kind == "taint" and isinstance(taint, str) and not taint.startswith(_GPU_TAINTS)
    return reason.of_nodes, of_others, ORDER.index(reason.kind), -len(reason.details)


def most_telling(texts: Iterable[str]) -> Unplaced | None:
    """Return the reason that tells most of several texts, None when none speaks of one."""
    return min((reason for text in texts for reason in read_unplaced(text)), key=telling, default=None)


_WANTED: Final = r"(?:Not)?In \[[^\]]*\]|Exists|DoesNotExist|[<>]=?\s?\d+"
_FACTS: Final = (
    r'nodepool "(?P<pool>[\w.-]+)"',
    r"NodePool=(?P<pool>[\w.-]+)",
    r"sufficient (?P<instance>[a-z][\w-]*\.[\w-]+) capacity",
    r"instance type \((?P<instance>[a-z][\w-]*\.[\w-]+)\)",
    r"Availability Zone you requested \((?P<zone>[\w-]+)\)",
    r"vCPU limit of (?P<limit>\d+)",
)
_RULES: Final[tuple[tuple[Kind, tuple[str, ...]], ...]] = (
    ("quota", (r"VcpuLimitExceeded", r"more vCPU capacity than your\s+current vCPU limit")),
    ("spot-quota", (r"MaxSpotInstanceCountExceeded", r"Max spot instance count exceeded")),
    ("reservation-full", (r"ReservationCapacityExceeded",)),
    (
        "capacity",
        (
            r"InsufficientInstanceCapacity|UnfulfillableCapacity|MaxFleetCountExceeded",
            r"do not have sufficient \S+ capacity",
            r"all requested instance types were unavailable during launch",
        ),
    ),
    ("not-offered", (r"is not supported in your requested Availability Zone",)),
    ("addresses", (r"InsufficientFreeAddressesInSubnet",)),
    (
        "no-device-plugin",
        (
            r'[Rr]esource \\?"(?P<resource>[\w./-]+)\\?" was requested but not registered',
            r"requested number of devices unavailable for (?P<resource>[\w./-]*\w)",
        ),
    ),
    ("pool-limit", (r"exceed limits for nodepool", r"limits have been exhausted for nodepool")),
    ("node-group-full", (r"max node group size reached",)),
    (
        "unknown-label",
        (
            r'label \\?"(?P<label>[^"\\]+)\\?" does not have known values \(typo of \\?"(?P<meant>[^"\\]+)',
            r'label \\?"(?P<label>[^"\\]+)\\?" does not have known values',
        ),
    ),
    (
        "labels",
        (
            rf"key (?P<label>[\w./-]+), [\w./-]+ (?P<asked>{_WANTED}) not in [\w./-]+ (?P<there>{_WANTED})",
            r"didn't match (?:Pod's node affinity|node selector)",
            r"no instance type met all requirements",
        ),
    ),
    (
        "no-offering",
        (
            r"no instance type has the required offering",
            r"no instance type which met the scheduling requirements and had enough resources,? had a required",
        ),
    ),
    (
        "no-instance-type",
        (
            r"no instance type (?:satisfied resources|has enough resources|had enough)",
            r"no instance type met the scheduling requirements or",
            r"no instance type which (?:had enough resources and|met the scheduling requirements and the required)",
            r"no instance type met the requirements/resources",
        ),
    ),
    (
        "taint",
        (
            r"did not tolerate (?:taint \(taint=)?(?P<taint>[\w./-]+(?:=[\w.-]*)?:\w+)",
            r"untolerated taint \{(?P<taint>[^}]*)\}",
            r"untolerated taint\(s\)|taints that the pod didn't tolerate",
        ),
    ),
    (
        "volume-zone",
        (
            r"volume node affinity conflict",
            r"didn't match PersistentVolume's node affinity",
            r"no available volume zone",
        ),
    ),
    (
        "volume-claim",
        (
            r'persistentvolumeclaim \\?"(?P<claim>[\w.-]+)\\?" not found',
            r"unbound immediate PersistentVolumeClaims",
            r"didn't find available persistent volumes",
        ),
    ),
    (
        "no-free-gpu",
        (
            r"Insufficient (?P<resource>(?:nvidia|amd)\.com/[\w.-]*\w)",
            r"didn't have enough resources: [^.]{0,80}\b(?P<resource>GPUs)\b",  # KAI
        ),
    ),
    ("host-resources", (r"Insufficient (?P<resource>cpu|memory|ephemeral-storage|pods)\b",)),
)
"""Patterns by reason, the one that names more first."""
_LEG: Final = (
    "incompatible (?:with nodepool|requirements)|all available instance types|did not tolerate|no instance type"
)
_BETWEEN_POOLS: Final = rf";\s*(?={_LEG})"
_SPOKEN_OF: Final[Mapping[Kind, tuple[str, ...]]] = {
    "quota": ("limit",),
    "capacity": ("instance", "zone"),
    "not-offered": ("instance",),
    "no-device-plugin": ("resource",),
    "pool-limit": ("pool",),
    "taint": ("taint",),
    "volume-claim": ("claim",),
    "labels": ("label", "asked", "there"),
    "no-instance-type": ("asked", "resource"),
}
_GPU_TAINTS: Final = ("nvidia.com/", "amd.com/gpu")
_NODES: Final = r"\d+/\d+ nodes are available"
_ASKED: Final = r'"(?P<name>(?:nvidia|amd)\.com/[\w.-]+)\\?":\s?\\?"(?P<number>\d+)'


def _parts(text: str) -> list[str]:
    """Split Karpenter's list of one reason for each pool; other texts are one part."""
    return re.split(_BETWEEN_POOLS, text)


def _of_part(part: str) -> Iterator[Unplaced]:
    facts, of_nodes = _found(part, _FACTS), re.search(_NODES, part) is not None
    for kind, patterns in _RULES:
        match = next(filter(None, (re.search(pattern, part) for pattern in patterns)), None)
        if match is None:
            continue
        details: dict[str, Parameter] = {name: text for name, text in match.groupdict().items() if text}
        if kind == "no-instance-type" and (asked := re.search(_ASKED, part)):
            details |= {"resource": asked["name"], "asked": asked["number"]}
        yield Unplaced(kind, {**details, **facts}, of_nodes)


def _found(part: str, patterns: Iterable[str]) -> dict[str, Parameter]:
    """Return all that the patterns name; what one found stands against a later one."""
    found: dict[str, Parameter] = {}
    for pattern in patterns:
        match = re.search(pattern, part)
        if match is not None:
            found = {**match.groupdict(), **found}
    return found


def _hashable(reason: Unplaced) -> tuple[Kind, tuple[tuple[str, Parameter], ...], bool]:
    return reason.kind, tuple(reason.details.items()), reason.of_nodes
