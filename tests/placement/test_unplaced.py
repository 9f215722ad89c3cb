"""Events of pods that got no node, as the scheduler, Karpenter, EC2 and the autoscaler write them."""

import pytest

from oomedic.placement.unplaced import ORDER, Unplaced, most_telling, read_unplaced
from oomedic.reports.phrases import Phrasebook
from oomedic.sources.builtin import load

TAINTED = (
    'Failed to schedule pod, incompatible with nodepool "gpu", daemonset overhead={"pods":"4"}, '
    "did not tolerate taint (taint=nvidia.com/gpu=true:NoSchedule)"
)
TWO_POOLS = (
    'Failed to schedule pod, incompatible with nodepool "system", daemonset overhead={"cpu":"821m","memory":"1350Mi"}, '
    'incompatible requirements, label "nvidia.com/device-plugin.config" does not have known values; '
    'incompatible with nodepool "gpu-ner", daemonset overhead={"cpu":"1"}, incompatible requirements, '
    "key node.kubernetes.io/instance-type, node.kubernetes.io/instance-type In [g6e.4xlarge] not in "
    "node.kubernetes.io/instance-type In [g6.2xlarge g6.xlarge]; "
    'all available instance types exceed limits for nodepool "graviton"'
)
ICE = (
    "NodeClaim gpu-x7k2q event: creating instance, insufficient capacity, with fleet error(s), "
    "InsufficientInstanceCapacity: We currently do not have sufficient g6e.2xlarge capacity in the Availability Zone "
    "you requested (eu-central-1b). Our system will be working on provisioning additional capacity."
)
QUOTA = (
    "creating instance, insufficient capacity, with fleet error(s), VcpuLimitExceeded: You have requested more vCPU "
    "capacity than your current vCPU limit of 64 allows for the instance bucket that the specified instance type "
    "belongs to. Please visit http://aws.amazon.com/contact-us/ec2-request to request an adjustment to this limit."
)


SPOT = (
    "creating instance, insufficient capacity, with fleet error(s), MaxSpotInstanceCountExceeded: Max spot instance "
    "count exceeded"
)
TAKEN = "creating instance, insufficient capacity, all requested instance types were unavailable during launch"
ELSEWHERE = (
    "Unsupported: Your requested instance type (p5.48xlarge) is not supported in your requested Availability Zone "
    "(us-east-1e)."
)
OLD_KARPENTER = (
    'incompatible with nodepool "gpu", no instance type satisfied resources {"cpu":"15510m","nvidia.com/gpu":"4"} and '
    "requirements karpenter.sh/capacity-type In [on-demand] (no instance type has enough resources)"
)
NEW_KARPENTER = (
    "Failed to schedule pod, no instance type has enough resources, requirements=karpenter.sh/nodepool In [a], "
    'resources={"cpu":"1","nvidia.com/gpu":"16"}'
)
NO_OFFERING = (
    "no instance type which met the scheduling requirements and had enough resources, had a required offering, "
    "requirements=topology.kubernetes.io/zone In [us-east-1f], resources={}"
)
DEVICES = (
    "Allocate failed due to requested number of devices unavailable for nvidia.com/gpu. Requested: 1, Available: 0"
)
AUTOSCALER = (
    "pod didn't trigger scale-up: 1 max node group size reached, 2 node(s) didn't match Pod's node affinity/selector"
)
TYPO = (
    'label "node.kubernetes.io/instance-family" does not have known values (typo of '
    '"karpenter.k8s.aws/instance-family"?)'
)
LIMIT = "Failed to schedule pod, all available instance types exceed limits for nodepool"
UNTOLERATED = "0/1 nodes are available: 1 node(s) had untolerated taint"
SPEAK_OF_A_RESOURCE = {"no-free-gpu", "host-resources", "unknown-label"}
"""Their texts always name one."""
REASONS = [
    ("0/6 nodes are available: 6 Insufficient nvidia.com/gpu.", "no-free-gpu", {"resource": "nvidia.com/gpu"}),
    ("0/6 nodes are available: 6 Insufficient memory.", "host-resources", {"resource": "memory"}),
    (f"{UNTOLERATED} {{nvidia.com/gpu: true}}.", "taint", {"taint": "nvidia.com/gpu: true"}),
    (f"{UNTOLERATED}(s).", "taint", {}),
    ("0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector.", "labels", {}),
    ("0/2 nodes are available: 2 node(s) had volume node affinity conflict.", "volume-zone", {}),
    (TAINTED, "taint", {"taint": "nvidia.com/gpu=true:NoSchedule", "pool": "gpu"}),
    (ICE, "capacity", {"instance": "g6e.2xlarge", "zone": "eu-central-1b"}),
    (QUOTA, "quota", {"limit": "64"}),
    (SPOT, "spot-quota", {}),
    (TAKEN, "capacity", {}),
    (ELSEWHERE, "not-offered", {"instance": "p5.48xlarge"}),
    (f"{LIMIT} (NodePool=small)", "pool-limit", {"pool": "small"}),
    (f'{LIMIT} "gpu"', "pool-limit", {"pool": "gpu"}),
    (OLD_KARPENTER, "no-instance-type", {"resource": "nvidia.com/gpu", "asked": "4", "pool": "gpu"}),
    (NEW_KARPENTER, "no-instance-type", {"resource": "nvidia.com/gpu", "asked": "16"}),
    (NO_OFFERING, "no-offering", {}),
    ('Resource "nvidia.com/gpu" was requested but not registered', "no-device-plugin", {"resource": "nvidia.com/gpu"}),
    (DEVICES, "no-device-plugin", {"resource": "nvidia.com/gpu"}),
    (AUTOSCALER, "node-group-full", {}),
    ("InsufficientFreeAddressesInSubnet: not enough free addresses in subnet", "addresses", {}),
    ("ReservationCapacityExceeded: the reservation has no capacity", "reservation-full", {}),
    (TYPO, "unknown-label", {"meant": "karpenter.k8s.aws/instance-family"}),
]


@pytest.mark.parametrize(("text", "kind", "details"), REASONS)
def test_a_reason_is_read_with_what_it_names(text, kind, details):
    first = read_unplaced(text)[0]
    assert first.kind == kind
    assert details.items() <= first.details.items()


def test_the_reasons_of_several_pools_are_told_apart():
    found = {reason.kind: reason.details for reason in read_unplaced(TWO_POOLS)}
    assert found["pool-limit"] == {"pool": "graviton"}
    assert found["unknown-label"] == {"label": "nvidia.com/device-plugin.config", "pool": "system"}
    assert found["labels"] == {
        "label": "node.kubernetes.io/instance-type",
        "asked": "In [g6e.4xlarge]",
        "there": "In [g6.2xlarge g6.xlarge]",
        "pool": "gpu-ner",
    }


def test_a_quota_of_nought_is_a_quota_and_no_lack_of_capacity():
    (reason, *_) = read_unplaced(QUOTA.replace("64", "0"))
    assert (reason.kind, reason.details["limit"]) == ("quota", "0")


def test_why_no_node_comes_tells_more_than_what_is_wrong_with_those_that_are_there():
    scheduler = "0/2 nodes are available: 1 node(s) had untolerated taint(s), 1 Insufficient nvidia.com/gpu."
    karpenter = "Failed to schedule pod, incompatible requirements, key a/b, a/b In [x] not in a/b In [y]"
    assert most_telling([scheduler, karpenter]).kind == "labels"
    assert most_telling([scheduler, TAINTED]).details["taint"] == "nvidia.com/gpu=true:NoSchedule"


def test_a_pool_that_is_kept_for_others_tells_less_than_one_that_lacks_a_label():
    dedicated = TAINTED.replace("nvidia.com/gpu=true", "dedicated=batch")
    labels = 'incompatible with nodepool "b", incompatible requirements, key a/b, a/b In [x] not in a/b In [y]'
    assert most_telling([f"{dedicated}; {labels}"]).kind == "labels"
    assert most_telling([f"{TAINTED}; {labels}"]).kind == "taint"


def test_what_the_cloud_refuses_tells_more_than_full_nodes():
    texts = ["0/3 nodes are available: 3 Insufficient nvidia.com/gpu.", ICE]
    assert most_telling(texts).kind == "capacity"
    assert most_telling([*texts, QUOTA]).kind == "quota"


@pytest.mark.parametrize(
    "text", ["", "Pod should schedule on: nodeclaim/gpu-tm4gv", "Started container vllm", "capacity"]
)
def test_what_speaks_of_no_refusal_gives_no_reason(text):
    assert read_unplaced(text) == ()
    assert most_telling([text]) is None


@pytest.mark.parametrize("kind", ORDER)
def test_every_reason_has_its_explanation_and_its_next_step(kind):
    phrases = Phrasebook(load().messages())
    bare = Unplaced(kind)
    for claim in (bare.says(), bare.next_step()):
        assert phrases.has(claim.message) or kind in SPEAK_OF_A_RESOURCE
        assert "{" not in phrases.say(claim) or kind in SPEAK_OF_A_RESOURCE


@pytest.mark.parametrize("text", [text for text, *_ in REASONS])
def test_no_sentence_has_a_gap(text):
    phrases = Phrasebook(load().messages())
    for reason in read_unplaced(text):
        assert "{" not in phrases.say(reason.says()).replace("{nvidia.com/gpu: true}", "")
