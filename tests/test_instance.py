"""EC2 instance types: what is in the catalogue, labels as Karpenter writes them, prices by region."""

import pytest

from oomedic.instance import Prices, cards_of_labels, cheapest_of_each, instances_of, labels_of
from oomedic.sources.builtin import load


@pytest.fixture(scope="module")
def catalogue():
    return load()


@pytest.fixture(scope="module")
def rows(catalogue):
    return {row["type"]: row for row in catalogue.instances()}


@pytest.fixture(scope="module")
def instances(catalogue):
    return {each.type: each for each in instances_of(catalogue.instances(), catalogue.gpu)}


def test_every_accelerated_family_is_there(rows):
    families = {kind.partition(".")[0] for kind in rows}
    assert families >= {"g4dn", "g4ad", "g5", "g5g", "g6", "gr6", "g6f", "gr6f", "g6e", "g7", "g7e", "p3", "p3dn"}
    assert families >= {"p4d", "p4de", "p5", "p5e", "p5en", "p6-b200", "p6-b300", "p6e-gb200", "inf2", "trn1", "trn2"}
    assert len(rows) == 93


def test_usable_memory_is_the_cards_and_never_what_ec2_advertises(instances, rows):
    g5 = instances["g5.xlarge"]
    assert g5.gpu.memory.origin == "catalogued"
    assert g5.gpu.memory.value < rows["g5.xlarge"]["label_gpu_memory_mib"] * 2**20


def test_memory_that_nobody_printed_is_marked_as_assumed(instances):
    assumed = {each.gpu.name for each in instances.values() if each.gpu.memory.origin == "assumed"}
    assert assumed == {"NVIDIA T4G", "NVIDIA RTX PRO 4500 Blackwell Server Edition"}


def test_a_fraction_of_a_card_is_no_card(instances, rows):
    assert rows["g6f.2xlarge"]["gpu_fraction"] == 0.25
    assert rows["g6f.2xlarge"]["gpus"] == 0
    assert not any(kind.startswith(("g6f", "gr6f")) for kind in instances)
    assert cards_of_labels({"node.kubernetes.io/instance-type": "g6f.large"}, rows.values()) == frozenset()


@pytest.mark.parametrize(
    ("kind", "maker"), [("g4ad.xlarge", "amd"), ("inf2.xlarge", "aws-neuron"), ("trn2.48xlarge", "aws-neuron")]
)
def test_what_is_not_for_cuda_is_marked_with_its_maker(kind, maker, rows, instances):
    assert (rows[kind]["cuda"], rows[kind]["maker"]) == (False, maker)
    assert kind not in instances


def test_cards_on_one_board_over_pcie_have_no_nvlink(instances):
    with_nvlink = {each.family for each in instances.values() if each.nvlink}
    assert with_nvlink == {"p3", "p3dn", "p4d", "p4de", "p5", "p5e", "p5en", "p6-b200", "p6-b300", "p6e-gb200"}
    assert instances["g5.12xlarge"].interconnect == "PCIe"


def test_what_practically_needs_a_reservation_says_so(instances):
    assert instances["p5en.48xlarge"].capacity == "reservation"
    assert instances["p5e.48xlarge"].capacity == "capacity-block"
    assert instances["p4d.24xlarge"].capacity is None


def test_labels_are_those_that_karpenter_documents_for_a_type(rows):
    assert labels_of(rows["g6e.12xlarge"]) == {
        "instance-category": "g",
        "instance-family": "g6e",
        "instance-generation": "6",
        "instance-size": "12xlarge",
        "instance-cpu": "48",
        "instance-memory": "393216",
        "instance-local-nvme": "3800",
        "instance-gpu-name": "l40s",
        "instance-gpu-manufacturer": "nvidia",
        "instance-gpu-count": "4",
        "instance-gpu-memory": "45776",
    }
    assert labels_of(rows["p6-b200.48xlarge"])["instance-family"] == "p6-b200"
    assert labels_of(rows["gr6.4xlarge"])["instance-category"] == "gr"


@pytest.mark.parametrize("prefix", ["karpenter.k8s.aws", "eks.amazonaws.com"])
def test_labels_of_both_kinds_of_nodes_name_the_cards(prefix, rows):
    labels = {f"{prefix}/instance-category": "g", f"{prefix}/instance-generation": "6"}
    assert cards_of_labels(labels, rows.values()) == {"NVIDIA L4", "NVIDIA L40S"}


def test_the_prefix_of_hyperpod_is_no_part_of_the_type(rows):
    assert cards_of_labels({"node.kubernetes.io/instance-type": "ml.p5.48xlarge"}, rows.values()) == {
        "NVIDIA H100 80GB HBM3"
    }


def test_newer_prices_of_the_region_win(catalogue):
    prices = Prices("eu-central-1", "2026-11-20", {"g5.xlarge": 1.258})
    found = {each.type: each for each in instances_of(catalogue.instances(), catalogue.gpu, "eu-central-1", prices)}
    assert found["g5.xlarge"].price == 1.258
    assert found["g5.xlarge"].price_date == "2026-11-20"


def test_a_price_of_another_region_keeps_that_regions_name(catalogue):
    found = {each.type: each for each in instances_of(catalogue.instances(), catalogue.gpu, "eu-central-1")}
    assert (found["g5.xlarge"].price, found["g5.xlarge"].region) == (1.006, "us-east-1")


def test_each_card_and_number_is_named_once_by_its_cheapest_type(instances):
    best = {(each.gpu.name, each.gpus): each for each in cheapest_of_each(instances.values())}
    assert len(best) == len({(each.gpu.name, each.gpus) for each in instances.values()})
    assert best["NVIDIA A10G", 4].type == "g5.12xlarge"
    assert best["NVIDIA H200", 8].type == "p5en.48xlarge"  # p5e has no price
