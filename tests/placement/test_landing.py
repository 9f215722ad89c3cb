"""Which cards a pod may get from its node pools, and which leg closes a pool."""

import pytest

from oomedic.kube.requirement import Requirement, exactly
from oomedic.placement.landing import landings
from oomedic.placement.needs import Needs
from oomedic.placement.node_pool import read_node_pools
from oomedic.placement.verdict import verdicts
from oomedic.units import GIB, MIB

TOLERATED = ({"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},)


def cards(found):
    return [landing.gpu.name for landing in found.open]


def reason(found):
    (closed,) = found.closed
    return closed.because


def asking(**labels):
    return Needs(1, terms=(exactly({key.replace("_", "-"): value for key, value in labels.items()}),))


def test_a_pool_of_category_g_may_give_any_of_its_cards(karpenter_pool, instances):
    g_only = karpenter_pool._replace(
        requirements=(Requirement("karpenter.k8s.aws/instance-category", "In", ("g",)),), taints=()
    )
    found = landings(Needs(1), [g_only], instances)
    assert {"Tesla T4", "NVIDIA A10G", "NVIDIA L4", "NVIDIA L40S"} <= set(cards(found))
    assert not {"NVIDIA H100 80GB HBM3", "NVIDIA H200"} & set(cards(found))


def test_the_cheapest_machine_of_each_card_comes_first(karpenter_pool, instances):
    found = landings(Needs(4, tolerations=TOLERATED), [karpenter_pool], instances)
    a10g = next(landing for landing in found.open if landing.gpu.name == "NVIDIA A10G")
    assert [each.type for each in a10g.instances] == ["g5.12xlarge", "g5.24xlarge", "g5.48xlarge"]
    assert a10g.pools == ("gpu",)


def test_labels_of_auto_mode_are_read_under_its_own_domain(auto_pool, instances):
    found = landings(Needs(1, tolerations=TOLERATED), [auto_pool], instances)
    assert cards(found) == ["NVIDIA L40S"]


def test_a_taint_that_is_not_tolerated_closes_the_pool(karpenter_pool, instances):
    found = landings(Needs(1), [karpenter_pool], instances)
    assert reason(found).message == "placement.taint"
    assert reason(found).parameters["taint"] == "nvidia.com/gpu=true:NoSchedule"


def test_a_selector_for_a_label_that_karpenter_does_not_know_closes_the_pool(karpenter_pool, instances):
    needs = Needs(1, terms=(exactly({"node.kubernetes.io/instance-family": "g6"}),), tolerations=TOLERATED)
    assert reason(landings(needs, [karpenter_pool], instances)).message == "placement.label"


def test_a_label_that_the_pool_puts_on_its_nodes_is_known(karpenter_pool, instances):
    labelled = karpenter_pool._replace(labels={"team": "inference"})
    needs = Needs(1, terms=(exactly({"team": "inference"}),), tolerations=TOLERATED)
    assert landings(needs, [labelled], instances).open


def test_more_gpus_than_any_machine_has_are_named_with_the_most(karpenter_pool, instances):
    found = reason(landings(Needs(16, tolerations=TOLERATED), [karpenter_pool], instances))
    assert (found.message, found.parameters["most"]) == ("placement.gpus", 8)


def test_a_memory_request_is_held_against_what_a_node_leaves_to_pods(karpenter_pool, instances):
    # github.com/aws/karpenter-provider-aws issue 6475: 15510Mi never fit on a g5.xlarge of 16384 Mi
    small = karpenter_pool._replace(
        requirements=(Requirement("node.kubernetes.io/instance-type", "In", ("g5.xlarge",)),)
    )
    found = reason(landings(Needs(1, memory=15510 * MIB, tolerations=TOLERATED), [small], instances))
    assert (found.message, found.parameters["most"]) == ("placement.memory", 14162 * MIB)


def test_a_processor_request_is_held_against_it_too(karpenter_pool, instances):
    small = karpenter_pool._replace(
        requirements=(Requirement("node.kubernetes.io/instance-type", "In", ("g5.xlarge",)),)
    )
    found = reason(landings(Needs(1, cpu=4000, tolerations=TOLERATED), [small], instances))
    assert (found.message, found.parameters["most"]) == ("placement.cpu", 3.92)


def test_a_limit_below_the_pods_gpus_closes_the_pool(auto_pool, instances):
    few = auto_pool._replace(limits={"nvidia.com/gpu": "2"})
    found = reason(landings(Needs(4, tolerations=TOLERATED), [few], instances))
    assert (found.message, found.parameters["limit"]) == ("placement.limit", "2")


def test_any_of_several_terms_is_enough(karpenter_pool, instances):
    key = "karpenter.k8s.aws/instance-gpu-name"
    terms = ((Requirement(key, "In", ("a10g",)),), (Requirement(key, "In", ("l4",)),))
    found = landings(Needs(1, terms=terms, tolerations=TOLERATED), [karpenter_pool], instances)
    assert set(cards(found)) == {"NVIDIA A10G", "NVIDIA L4"}


def test_a_capacity_type_that_the_pool_does_not_have_closes_it(karpenter_pool, instances):
    needs = Needs(1, terms=(exactly({"karpenter.sh/capacity-type": "reserved"}),), tolerations=TOLERATED)
    assert reason(landings(needs, [karpenter_pool], instances)).message == "placement.label"


def test_what_is_sold_in_capacity_blocks_needs_a_pool_of_reserved_nodes(karpenter_pool, instances):
    found = landings(Needs(8, tolerations=TOLERATED), [karpenter_pool], instances)
    assert "p5e.48xlarge" not in [each.type for landing in found.open for each in landing.instances]
    reserved = karpenter_pool._replace(requirements=(Requirement("karpenter.sh/capacity-type", "In", ("reserved",)),))
    found = landings(Needs(8, tolerations=TOLERATED), [reserved], instances)
    assert "p5e.48xlarge" in [each.type for landing in found.open for each in landing.instances]


def test_auto_modes_own_pools_give_no_gpus(auto_pool, instances):
    built_in = auto_pool._replace(name="general-purpose", requirements=())
    assert reason(landings(Needs(1, tolerations=TOLERATED), [built_in], instances)).message == "placement.no-gpu-types"


def test_without_pools_the_pods_own_labels_name_the_cards(instances):
    needs = Needs(1, terms=(exactly({"karpenter.k8s.aws/instance-family": "g5"}),))
    assert cards(landings(needs, [], instances)) == ["NVIDIA A10G"]
    either = Needs(1, terms=(exactly({"eks.amazonaws.com/instance-gpu-name": "a100"}),))
    assert set(cards(landings(either, [], instances))) == {"NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-80GB"}


def test_without_pools_labels_that_say_nothing_of_instances_are_left_aside(instances):
    needs = Needs(1, terms=(exactly({"node.kubernetes.io/instance-type": "g5.xlarge", "team": "a"}),))
    assert cards(landings(needs, [], instances)) == ["NVIDIA A10G"]


def test_without_pools_and_labels_nothing_is_claimed(instances):
    assert landings(Needs(1), [], instances).open == ()


def test_several_pools_are_told_apart(karpenter_pool, auto_pool, instances):
    found = landings(Needs(1, tolerations=TOLERATED), [karpenter_pool, auto_pool], instances)
    l40s = next(landing for landing in found.open if landing.gpu.name == "NVIDIA L40S")
    assert l40s.pools == ("gpu", "auto-gpu")


class Dies:
    outcome = "crashes"


class Starts:
    outcome = "starts"


def test_the_card_that_fails_is_named_first(karpenter_pool, instances):
    found = landings(Needs(1, tolerations=TOLERATED), [karpenter_pool], instances)
    judged = verdicts(found.open, lambda gpu: Dies() if gpu.memory.value < 40 * GIB else Starts())
    failing = [verdict.landing.gpu.name for verdict in judged if verdict.fails]
    assert failing == [verdict.landing.gpu.name for verdict in judged][: len(failing)]
    assert {"Tesla T4", "NVIDIA A10G", "NVIDIA L4"} <= set(failing)
    assert "NVIDIA L40S" not in failing


@pytest.mark.parametrize("text", ["", "kind: NodePool\napiVersion: v1\n", "a: [1, 2]\n---\n- x\n"])
def test_files_without_pools_have_none(text):
    assert read_node_pools(text, "f") == ()


def test_a_pool_of_a_list_is_found_with_its_place():
    text = """\
apiVersion: v1
kind: List
items:
- {apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: a}, spec: {weight: 10, limits: {nvidia.com/gpu: 4}}}
"""
    (pool,) = read_node_pools(text, "f")
    assert (pool.name, pool.weight, pool.limits, pool.place) == ("a", 10, {"nvidia.com/gpu": "4"}, (0, 0))


def test_what_the_catalogue_does_not_say_of_a_type_closes_no_pool(karpenter_pool, instances):
    nitro = Requirement("karpenter.k8s.aws/instance-hypervisor", "In", ("nitro",))
    fast = Requirement("karpenter.k8s.aws/instance-network-bandwidth", "Gt", ("10000",))
    pool = karpenter_pool._replace(requirements=(*karpenter_pool.requirements, nitro, fast))
    without = landings(Needs(1, tolerations=TOLERATED), [karpenter_pool], instances)
    assert cards(landings(Needs(1, tolerations=TOLERATED), [pool], instances)) == cards(without) != []


def test_a_device_that_no_card_is_closes_a_pool(karpenter_pool, instances):
    neuron = Requirement("karpenter.k8s.aws/instance-accelerator-name", "In", ("inferentia2",))
    pool = karpenter_pool._replace(requirements=(*karpenter_pool.requirements, neuron))
    assert cards(landings(Needs(1, tolerations=TOLERATED), [pool], instances)) == []


def test_auto_mode_makes_no_nodes_of_families_that_it_does_not_support(auto_pool, karpenter_pool, instances):
    """Of the p3 only p3dn, and no g7: Karpenter makes all of them."""
    free = auto_pool._replace(requirements=(), limits={})
    own = cards(landings(Needs(1, tolerations=TOLERATED), [free], instances))
    assert "Tesla V100-SXM2-32GB" in own
    missing = {"Tesla V100-SXM2-16GB", "NVIDIA RTX PRO 4500 Blackwell Server Edition"}
    assert not missing & set(own)
    other = karpenter_pool._replace(requirements=(), limits={})
    assert missing <= set(cards(landings(Needs(1, tolerations=TOLERATED), [other], instances)))
