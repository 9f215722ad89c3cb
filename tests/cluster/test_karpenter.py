"""Real Karpenter with our catalogue's instance types: what it makes of a NodePool, and what it says if it cannot."""

import pytest
from plane.objects import deployment, eventually

TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
TAINT = {"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}


def node_pool(name, gpu_name, limit="8", counts=("1", "4")):
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {
            "template": {
                "spec": {
                    "requirements": [
                        {"key": "karpenter.k8s.aws/instance-gpu-name", "operator": "In", "values": [gpu_name]},
                        {"key": "karpenter.k8s.aws/instance-gpu-count", "operator": "In", "values": list(counts)},
                        {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
                    ],
                    "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"},
                    "taints": [TAINT],
                }
            },
            "limits": {"nvidia.com/gpu": limit},
        },
    }


@pytest.fixture
def pool(karpenter, request):
    """Make a NodePool that goes when the test ends, with its nodes."""

    def make(*args, **kwargs):
        made = node_pool(*args, **kwargs)
        karpenter.create(made)
        request.addfinalizer(lambda: karpenter.kubectl("delete", "nodepool", made["metadata"]["name"], "--wait=false"))
        return made

    return make


def test_a_pod_with_four_gpus_gets_the_cheapest_node_of_the_pool_that_has_them(karpenter, pool, namespace):
    pool("a10g", "a10g")
    selector = {"karpenter.k8s.aws/instance-gpu-name": "a10g"}
    wide = deployment("wide", namespace, ["--model=m"], gpus="4", tolerations=[TOLERATION], nodeSelector=selector)
    karpenter.create(wide)
    pod = eventually(lambda: running(karpenter, namespace), patience=120)
    node = karpenter.read("node", pod["spec"]["nodeName"])
    # of the A10G types with at least 4 cards (g5.12xlarge 5.672, g5.24xlarge 8.144, g5.48xlarge 16.288 $/h)
    assert node["metadata"]["labels"]["node.kubernetes.io/instance-type"] == "g5.12xlarge"


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        (["4"], "all available instance types exceed limits for nodepool"),
        # types within the limit remain, and Karpenter then speaks of these alone
        (["1", "4"], "no instance type has enough resources"),
    ],
)
def test_a_pool_whose_limit_is_too_small_says_so_on_the_pod(karpenter, pool, namespace, counts, words):
    pool(f"small-{len(counts)}", "l40s", limit="2", counts=counts)
    selector = {"karpenter.k8s.aws/instance-gpu-name": "l40s"}
    karpenter.create(deployment("w", namespace, [], gpus="4", tolerations=[TOLERATION], nodeSelector=selector))
    assert eventually(lambda: said(karpenter, namespace, words), patience=60)


def test_a_pod_without_the_toleration_is_told_of_the_taint(karpenter, pool, namespace):
    pool("tainted", "l4")
    karpenter.create(deployment("w", namespace, [], nodeSelector={"karpenter.k8s.aws/instance-gpu-name": "l4"}))
    assert eventually(lambda: said(karpenter, namespace, "did not tolerate taint"), patience=60)


def running(plane, namespace):
    pods = plane.read("pods", "-n", namespace)["items"]
    return next((pod for pod in pods if pod["status"]["phase"] == "Running"), None)


def said(plane, namespace, text):
    events = plane.read("events", "-n", namespace)["items"]
    return next((event["message"] for event in events if text in event.get("message", "")), None)
