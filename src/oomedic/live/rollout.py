"""From what is seen of a rollout, one look after the other, to how it stands and at last to a verdict.

A look is a plain value; when it was taken is said by whoever looks. The same look always gives the same answer.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, NamedTuple

from oomedic.claim import Claim, claim
from oomedic.kube.ownership import Tree
from oomedic.live.workload import has_crashed, is_failing, is_ready, is_unscheduled

State = Literal[
    "healthy",
    "still-oom",
    "crashes",
    "probe-kill",
    "quota",
    "capacity",
    "constraint-mismatch",
    "unschedulable",
    "image",
    "no-answer",
    "timeout",
]
FAILED: Final = frozenset(("still-oom", "crashes", "probe-kill", "image", "no-answer", "timeout"))
"""Verdicts that say that the change does not help: it is taken back. The others wait for the cluster."""
_IMAGE: Final = frozenset(("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"))
_PATIENCE_FOR_A_NODE_S: Final = 60.0
_PATIENCE_WITH_POOLS_S: Final = 900.0
_QUOTA: Final = re.compile(r"VcpuLimitExceeded|MaxSpotInstanceCountExceeded|exceeded quota|limits? for nodepool")
_CAPACITY: Final = re.compile(r"InsufficientInstanceCapacity|UnfulfillableCapacity|ReservationCapacityExceeded")
_MISMATCH: Final = re.compile(
    r"didn't match Pod's node affinity|untolerated taint|did not tolerate taint|no instance type|incompatible"
)
_RESTARTS: Final = 2
_COMPARED: Final = ("image", "command", "args")
_CONTAINED: Final = ("env", "envFrom")
"""Lists to which admission may add."""


class Verdict(NamedTuple):
    """How it ended: ``because`` says why, figures included."""

    state: State
    because: tuple[Claim, ...] = ()

    @property
    def failed(self) -> bool:
        """Tell whether the change is to be taken back."""
        return self.state in FAILED


class Look(NamedTuple):
    """What is seen at one moment.

    Attributes:
        found: the workload.
        pods: all its pods.
        messages: what scheduler and Karpenter say of pods without a node.
        elapsed_s: seconds since the change.
        has_pools: whether Karpenter could bring a node.
        old: UIDs of the pods from before the change.
    """

    found: Tree
    pods: tuple[Tree, ...]
    messages: tuple[str, ...] = ()
    elapsed_s: float = 0.0
    has_pools: bool = False
    old: frozenset[str] = frozenset()

    @property
    def new_pods(self) -> list[Tree]:
        """The pods that run what the workload now says, and are not on their way out."""
        pods = (pod for pod in self.pods if "deletionTimestamp" not in pod["metadata"])
        return [pod for pod in pods if is_new(pod, self.found, self.old)]


class Progress(NamedTuple):
    """How a rollout stands: counts of the new pods, whether all are ready, which has crashed; a verdict at its end."""

    wanted: int
    made: int
    ready: int
    crashed: Tree | None = None
    verdict: Verdict | None = None

    @property
    def is_ready(self) -> bool:
        """Tell whether every new pod is ready and no other is left to come."""
        return self.wanted > 0 and self.ready >= self.wanted


def progress(look: Look) -> Progress:
    """Say how the rollout stands."""
    new = look.new_pods
    wanted = _wanted(look.found)
    ready = sum(map(is_ready, new))
    crashed = next((pod for pod in new if has_crashed(pod) and not is_ready(pod) and _is_given_up(pod)), None)
    return Progress(wanted, len(new), ready, crashed, _verdict(new, look))


def is_new(pod: Tree, found: Tree, old: frozenset[str] = frozenset()) -> bool:
    """Tell whether a pod runs what the workload now says: image, command, arguments, variables, limits, files, node.

    What other controllers make of an object, only they know: there a pod is new when it is none of the ``old`` ones.
    """
    template = pod_template(found)
    if template is None:
        return pod["metadata"].get("uid") not in old
    running = {each["name"]: each for each in pod.get("spec", {}).get("containers") or ()}
    spec = template.get("spec") or {}
    if (spec.get("nodeSelector") or {}) != (pod["spec"].get("nodeSelector") or {}):
        return False
    if any(volume not in (pod["spec"].get("volumes") or ()) for volume in spec.get("volumes") or ()):
        return False
    return all(_runs(running.get(each["name"]), each) for each in spec.get("containers") or ())


def pod_template(found: Tree) -> Mapping[str, Any] | None:
    """Return the pod template of Kubernetes' own controllers; None for kinds whose pods others write."""
    template = (found.get("spec") or {}).get("template")
    return template if isinstance(template, Mapping) and "containers" in (template.get("spec") or {}) else None


def leaves_failing_pods(found: Tree) -> bool:
    """Tell whether nothing replaces a failing pod by one of a new revision.

    A StatefulSet waits for each pod to be ready before it goes on, also for one that it would replace by the change
    (kubernetes/kubernetes#67250); with ``OnDelete`` no controller replaces a pod at all.
    """
    spec = found.get("spec") or {}
    if found.get("kind") == "StatefulSet" and spec.get("podManagementPolicy") != "Parallel":
        return True
    by_hand = (spec.get("updateStrategy") or {}).get("type") == "OnDelete"
    return by_hand and found.get("kind") in {"StatefulSet", "DaemonSet"}


def stuck(found: Tree, pods: Iterable[Tree]) -> tuple[Tree, ...]:
    """Return the old pods that fail or find no node, and that a change never reaches: they have to be deleted."""
    if not leaves_failing_pods(found):
        return ()
    update = (found.get("spec") or {}).get("updateStrategy") or {}
    first = (update.get("rollingUpdate") or {}).get("partition") or 0
    return tuple(
        pod
        for pod in pods
        if (is_failing(pod) or is_unscheduled(pod))
        and "deletionTimestamp" not in pod["metadata"]
        and not is_new(pod, found)
        and _ordinal(pod) >= first
    )


def _ordinal(pod: Tree) -> int:
    """Return the number of a pod of a StatefulSet: those below its partition keep what they run."""
    number = pod["metadata"]["name"].rpartition("-")[2]
    return int(number) if number.isdigit() else 0


def _runs(running: Mapping[str, Any] | None, wanted: Mapping[str, Any]) -> bool:
    if running is None:
        return False
    if any(running.get(field) != wanted.get(field) for field in _COMPARED):
        return False
    limits = (wanted.get("resources") or {}).get("limits") or {}
    have = (running.get("resources") or {}).get("limits") or {}
    return all(have.get(key) == limit for key, limit in limits.items()) and all(
        each in (running.get(field) or ()) for field in _CONTAINED for each in wanted.get(field) or ()
    )


def _is_given_up(pod: Tree) -> bool:
    """Tell a crash loop from one crash, which a GPU that is just being freed can cause."""
    statuses = pod.get("status", {}).get("containerStatuses") or ()
    backs_off = any(reason == "CrashLoopBackOff" for reason, _ in _waiting(pod))
    often = any(status.get("restartCount", 0) >= _RESTARTS for status in statuses)
    return backs_off or often or pod.get("status", {}).get("phase") == "Failed"


def _wanted(found: Tree) -> int:
    spec = found.get("spec") or {}
    if found.get("kind") == "DaemonSet":
        return int((found.get("status") or {}).get("desiredNumberScheduled", 0))
    if found.get("kind") == "Pod":
        return 1
    replicas = spec.get("replicas", spec.get("parallelism", 1))
    ranks = (spec.get("leaderWorkerTemplate") or {}).get("size", 1)
    return replicas * ranks if isinstance(replicas, int) and isinstance(ranks, int) else 1


def _verdict(new: Iterable[Tree], look: Look) -> Verdict | None:
    pods = tuple(new)
    for reason, message in (each for pod in pods for each in _waiting(pod)):
        if reason in _IMAGE:
            return Verdict("image", (claim("rollout.image", reason=reason, says=message),))
    waits = any(map(is_unscheduled, pods)) and not any(map(is_ready, pods))
    patience = _PATIENCE_WITH_POOLS_S if look.has_pools else _PATIENCE_FOR_A_NODE_S
    if waits and look.elapsed_s > patience:
        return _unscheduled(look.messages)
    return None


def _waiting(pod: Tree) -> Iterable[tuple[str, str]]:
    for status in pod.get("status", {}).get("containerStatuses") or ():
        waiting = (status.get("state") or {}).get("waiting") or {}
        yield waiting.get("reason", ""), waiting.get("message", "")


def _unscheduled(messages: tuple[str, ...]) -> Verdict:
    text = " ".join(messages)
    state: State = "unschedulable"
    if _QUOTA.search(text):
        state = "quota"
    elif _CAPACITY.search(text):
        state = "capacity"
    elif _MISMATCH.search(text):
        state = "constraint-mismatch"
    return Verdict(state, (claim("rollout.unscheduled", says=messages[-1] if messages else None),))


def needs_room(found: Tree) -> bool:
    """Tell whether a rollout starts a new pod before it ends an old one, and cannot end an old one first."""
    if found.get("kind") != "Deployment":
        return False
    spec = found.get("spec") or {}
    strategy = spec.get("strategy") or {}
    if strategy.get("type", "RollingUpdate") != "RollingUpdate":
        return False
    rolling, replicas = strategy.get("rollingUpdate") or {}, spec.get("replicas", 1)
    unavailable = _share(rolling.get("maxUnavailable", "25%"), replicas, up=False)
    surge = _share(rolling.get("maxSurge", "25%"), replicas, up=True)
    # Kubernetes itself lets one be unavailable where both round to nothing
    return unavailable == 0 and surge > 0


def _share(value: object, replicas: int, *, up: bool) -> int:
    text = str(value)
    if not text.endswith("%"):
        return int(text) if text.isdigit() else 0
    share = int(text[:-1]) * replicas
    return -(-share // 100) if up else share // 100
