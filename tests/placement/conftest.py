from pathlib import Path

import pytest

from oomedic.instance import instances_of
from oomedic.placement.node_pool import read_node_pools
from oomedic.sources.builtin import load

MANIFESTS = Path(__file__).parents[1] / "manifests"


@pytest.fixture(scope="session")
def catalogue():
    return load()


@pytest.fixture(scope="session")
def instances(catalogue):
    return instances_of(catalogue.instances(), catalogue.gpu)


@pytest.fixture(scope="session")
def karpenter_pool():
    """Categories g and p, spot and on demand, tainted nvidia.com/gpu=true."""
    (pool,) = read_node_pools((MANIFESTS / "40-karpenter-gpu-nodepool.yaml").read_text(encoding="utf-8"), "40.yaml")
    return pool


@pytest.fixture(scope="session")
def auto_pool():
    """EKS Auto Mode: l40s with more than 40000 MiB, on demand, at most 8 GPUs."""
    (pool,) = read_node_pools((MANIFESTS / "41-automode-gpu-nodepool.yaml").read_text(encoding="utf-8"), "41.yaml")
    return pool
